#include "runtime/llm/ollama_format.h"

#include <optional>
#include <utility>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/llm/stream_parts.h"
#include "runtime/llm/tool_call_parts.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

using json::Writer;

void write_ollama_message(Writer& writer, const Message& message) {
  writer.begin_object().key("role").string(role_of(message.speaker));
  if (message.speaker == Speaker::tool) writer.key("tool_name").string(message.tool_name);
  writer.key("content").string((message.tool_failed ? "error: " : "") + message.text);
  if (!message.tool_calls.empty()) {
    writer.key("tool_calls").begin_array();
    for (const ToolCall& call : message.tool_calls) {
      writer.begin_object().key("function").begin_object().key("name").string(call.name);
      writer.key("arguments").json(call.arguments).end_object().end_object();
    }
    writer.end_array();
  }
  writer.end_object();
}

// The only way to forbid calls of tools is to send no tools.
void write_ollama_tools(Writer& writer, const ChatRequest& request) {
  if (request.tools.empty() || request.tool_choice == ToolChoice::none) return;
  write_functions(writer, request.tools);
}

class OllamaAnswer {
 public:
  // Returns std::nullopt, or the fault of the line.
  std::optional<ProviderFault> add(const json::Value& line, const OnText& on_text) {
    if (const auto* error = member(line, "error"); error != nullptr && !error->is_null()) {
      return fault_of_error(*error, 0);
    }
    if (response_.model.empty()) response_.model = text_member(&line, "model");
    const json::Value* message = member(line, "message");
    if (const std::string text = text_member(message, "content"); !text.empty()) {
      response_.text += text;
      on_text(text);
    }
    for (const json::Value& item : items_of(member(message, "tool_calls"))) {
      const json::Value* function = member(item, "function");
      ToolCall& call = calls_.at(next_call_++, text_member(&item, "id"));
      call.name = text_member(function, "name");
      const json::Value* arguments = member(function, "arguments");
      if (arguments == nullptr || arguments->is_null()) continue;
      const std::string* text = arguments->as_string();
      call.arguments = text != nullptr ? *text : text_of(*arguments);
    }
    const json::Value* done = member(line, "done");
    if (done == nullptr || done->as_bool() == nullptr || !*done->as_bool()) return std::nullopt;
    done_ = true;
    response_.usage.input_tokens = count_member(&line, "prompt_eval_count");
    response_.usage.output_tokens = count_member(&line, "eval_count");
    if (text_member(&line, "done_reason") == "length") response_.finish = Finish::length;
    return std::nullopt;
  }

  bool done() const noexcept { return done_; }

  Answer finish() {
    if (!done_) {
      ProviderFault fault = malformed("the answer stops before its end");
      fault.fault = Fault::interrupted;
      return fault;
    }
    if (auto fault = take_calls(calls_, response_)) return std::move(*fault);
    return std::move(response_);
  }

 private:
  ChatResponse response_;
  ToolCallParts calls_;
  std::int64_t next_call_ = 0;
  bool done_ = false;
};

class OllamaStream final : public StreamDecoder {
 public:
  void add(std::string_view bytes, const OnText& on_text) override {
    for (const std::string& line : reader_.feed(bytes)) take(line, on_text);
    if (reader_.overflowed() && !fault_) fault_ = malformed("a part of the answer is too large");
  }

  bool done() const noexcept override { return answer_.done(); }

  Answer finish(const OnText& on_text) override {
    if (const auto line = reader_.rest()) take(*line, on_text);
    if (fault_) return std::move(*fault_);
    return answer_.finish();
  }

 private:
  void take(std::string_view text, const OnText& on_text) {
    if (fault_) return;
    const auto line = json::parse(text, "a part of the answer");
    fault_ = line ? answer_.add(*line, on_text) : malformed(line.error().doing);
  }

  LineReader reader_;
  OllamaAnswer answer_;
  std::optional<ProviderFault> fault_;
};

}  // namespace

std::string OllamaFormat::api_url(const Endpoint& endpoint) const {
  return ending_with_path(endpoint.base_url, "/api");
}

HttpRequest OllamaFormat::request_to(const Endpoint& endpoint, std::string method,
                                     std::string_view path) const {
  HttpRequest http;
  http.method = std::move(method);
  http.url = api_url(endpoint) + std::string(path);
  if (!endpoint.api_key.empty()) {
    http.headers.emplace_back("Authorization", "Bearer " + endpoint.api_key.reveal());
  }
  return http;
}

HttpRequest OllamaFormat::encode(const ChatRequest& request, const Endpoint& endpoint,
                                 Delivery delivery, SchemaUse schema_use) const {
  HttpRequest http = request_to(endpoint, "POST", "/chat");
  http.headers.emplace_back("Content-Type", "application/json");
  Writer writer;
  writer.begin_object();
  writer.key("model").string(request.model.empty() ? endpoint.model : request.model);
  writer.key("messages").begin_array();
  if (request.schema && schema_use == SchemaUse::asked_for) {
    Message message;
    message.speaker = Speaker::system;
    message.text = schema_prompt(*request.schema);
    write_ollama_message(writer, message);
  }
  for (const Message& message : request.messages) write_ollama_message(writer, message);
  writer.end_array();
  writer.key("stream").boolean(delivery == Delivery::streamed);
  writer.key("options").begin_object().key("num_predict").integer(request.max_output_tokens);
  if (request.temperature) writer.key("temperature").number(*request.temperature);
  writer.end_object();
  if (request.schema && schema_use == SchemaUse::enforced) {
    writer.key("format").json(request.schema->schema);
  }
  write_ollama_tools(writer, request);
  writer.end_object();
  http.body = std::move(writer).take();
  return http;
}

Answer OllamaFormat::decode_reply(std::string_view body) const {
  const auto root = json::parse(body, "the answer");
  if (!root) return malformed(root.error().doing);
  OllamaAnswer answer;
  if (auto fault = answer.add(*root, [](std::string_view) {})) return std::move(*fault);
  if (member(*root, "message") == nullptr) return malformed("the answer has no message");
  return answer.finish();
}

std::unique_ptr<StreamDecoder> OllamaFormat::stream_decoder() const {
  return std::make_unique<OllamaStream>();
}

ProviderFault OllamaFormat::decode_error(int status, std::string_view body) const {
  return fault_of_body(status, body);
}

HttpRequest OllamaFormat::encode_models(const Endpoint& endpoint) const {
  return request_to(endpoint, "GET", "/tags");
}

Models OllamaFormat::decode_models(std::string_view body) const {
  return models_of(body, "models", "name");
}

bool OllamaFormat::repeats(int) const { return false; }

RetryRules OllamaFormat::retry_rules() const {
  RetryRules rules;
  rules.unreachable = RetryRules::Unreachable::given_up;
  return rules;
}

}  // namespace runtime::llm
