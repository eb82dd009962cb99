#include "runtime/lessons/embedder.h"

#include <optional>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/lessons/json_calls.h"
#include "runtime/llm/providers.h"

namespace runtime::lessons {
namespace {

using boost::asio::awaitable;
using jail::Result;
using Vector = std::vector<float>;

// The form of a provider's requests for embeddings; there are three forms.
struct Form {
  std::string_view provider;
  std::string_view model;
  enum class Style : std::uint8_t { openai, google, ollama } style;
};

constexpr Form forms[] = {{"openai", "text-embedding-3-small", Form::Style::openai},
                          {"openrouter", "openai/text-embedding-3-small", Form::Style::openai},
                          {"google", "gemini-embedding-001", Form::Style::google},
                          {"ollama", "nomic-embed-text", Form::Style::ollama}};

constexpr Form like_openai = {"", "text-embedding-3-small", Form::Style::openai};

std::optional<Form> form_of(const ProviderConfig& provider) {
  for (const Form& form : forms) {
    if (form.provider == provider.name) return form;
  }
  // Anthropic's own API is not OpenAI's, whatever its URL is.
  if (provider.base_url.empty() || provider.name == "anthropic") return std::nullopt;
  return like_openai;
}

// OpenAI: data.0.embedding. Ollama: embeddings.0. Google: embedding.values.
const json::Value* numbers_in(const json::Value& answer, Form::Style style) {
  if (style == Form::Style::google) return at_path(answer, "embedding.values");
  const json::Value* list = at_path(answer, style == Form::Style::openai ? "data" : "embeddings");
  if (list == nullptr || list->as_array() == nullptr || list->as_array()->empty()) return nullptr;
  const json::Value& first = list->as_array()->front();
  return style == Form::Style::openai ? at_path(first, "embedding") : &first;
}

std::optional<Vector> vector_of(const json::Value* numbers) {
  const json::Array* array = numbers == nullptr ? nullptr : numbers->as_array();
  if (array == nullptr || array->empty()) return std::nullopt;
  Vector vector;
  for (const json::Value& number : *array) {
    if (const auto* real = number.as_double()) {
      vector.push_back(static_cast<float>(*real));
    } else if (const auto* whole = number.as_integer()) {
      vector.push_back(static_cast<float>(*whole));
    } else {
      return std::nullopt;
    }
  }
  return vector;
}

class HttpEmbedder final : public Embedder {
 public:
  HttpEmbedder(JsonService service, std::string api_url, std::string model, Form::Style style)
      : service_(std::move(service)),
        api_url_(std::move(api_url)),
        model_(std::move(model)),
        style_(style) {}

  const std::string& model() const noexcept override { return model_; }

  awaitable<Result<Vector>> embed(std::string text, Cancel cancel) override {
    const auto reply = co_await call_json(service_, "POST", url(), body(text), std::move(cancel));
    if (!reply) co_return reply.error();
    if (reply->status >= 300) {
      co_return jail::Error{jail::ErrorKind::invalid,
                            service_.name + " answered " + std::to_string(reply->status) + " for " +
                                json::quoted(model_),
                            0, "set EMBEDDING_MODEL to an embedding model that it has"};
    }
    auto vector = vector_of(numbers_in(*reply->value, style_));
    if (!vector) {
      co_return jail::Error{
          jail::ErrorKind::invalid, service_.name + " answered without an embedding", 0, {}};
    }
    co_return std::move(*vector);
  }

 private:
  std::string url() const {
    if (style_ == Form::Style::google) return api_url_ + "/models/" + model_ + ":embedContent";
    return api_url_ + (style_ == Form::Style::openai ? "/embeddings" : "/embed");
  }

  std::string body(const std::string& text) const {
    json::Writer writer;
    writer.begin_object();
    if (style_ == Form::Style::google) {
      writer.key("model").string("models/" + model_);
      writer.key("content").begin_object().key("parts").begin_array();
      writer.begin_object().key("text").string(text).end_object();
      writer.end_array().end_object();
    } else {
      writer.key("model").string(model_);
      writer.key("input").string(text);
    }
    writer.end_object();
    return std::move(writer).take();
  }

  const JsonService service_;
  const std::string api_url_;
  const std::string model_;
  const Form::Style style_;
};

std::unique_ptr<Embedder> embedder_of(const Config& config, const ProviderConfig& provider,
                                      const Form& form, llm::HttpClient& client) {
  JsonService service;
  service.client = &client;
  service.name = provider.name + " (embeddings)";
  service.key_variable = "the key of " + provider.name;
  const std::string& key = provider.api_key.reveal();
  if (!key.empty()) {
    if (form.style == Form::Style::google) {
      service.headers.emplace_back("x-goog-api-key", key);
    } else {
      service.headers.emplace_back("Authorization", "Bearer " + key);
    }
  }
  std::string model =
      config.embedding_model.empty() ? std::string(form.model) : config.embedding_model;
  // Google's list of models gives the names with this prefix; the URL already contains it.
  constexpr std::string_view collection = "models/";
  if (form.style == Form::Style::google && model.starts_with(collection)) {
    model.erase(0, collection.size());
  }
  return std::make_unique<HttpEmbedder>(std::move(service), llm::api_url(provider),
                                        std::move(model), form.style);
}

// Ollama needs no setting, so only its URL or model shows that it is in use.
bool is_set(const ProviderConfig& provider) {
  return !provider.api_key.empty() || !provider.base_url.empty() || !provider.model.empty();
}

}  // namespace

Result<std::unique_ptr<Embedder>> make_embedder(const Config& config, llm::HttpClient& client) {
  const ProviderConfig* active = active_provider(config);
  if (active != nullptr) {
    if (const auto form = form_of(*active)) return embedder_of(config, *active, *form, client);
  }
  for (const ProviderConfig& provider : config.providers) {
    const auto form = form_of(provider);
    const bool asked = is_set(provider) && is_usable(config, provider);
    if (form && asked) return embedder_of(config, provider, *form, client);
  }
  return jail::Error{jail::ErrorKind::invalid,
                     "QDRANT_URL is set, but no configured provider makes embeddings", 0,
                     "set OPENAI_API_KEY, GOOGLE_API_KEY or OLLAMA_BASE_URL, or unset QDRANT_URL"};
}

}  // namespace runtime::lessons
