#include "runtime/llm/providers.h"

#include <string_view>
#include <utility>

#include "runtime/llm/anthropic_format.h"
#include "runtime/llm/failure_text.h"
#include "runtime/llm/google_format.h"
#include "runtime/llm/http_provider.h"
#include "runtime/llm/ollama_format.h"
#include "runtime/llm/openai_format.h"
#include "runtime/llm/replay_provider.h"

namespace runtime::llm {
namespace {

struct Defaults {
  std::string_view name;
  std::string_view base_url;
  std::string_view model;
};

constexpr Defaults all_defaults[] = {
    {"groq", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"},
    {"openrouter", "https://openrouter.ai/api/v1", "qwen/qwen-2.5-coder-32b-instruct:free"},
    {"anthropic", "https://api.anthropic.com", "claude-3-5-sonnet-20241022"},
    {"google", "https://generativelanguage.googleapis.com", "gemini-1.5-flash"},
    {"openai", "https://api.openai.com/v1", "gpt-4o-mini"},
    {"cerebras", "https://api.cerebras.ai/v1", "llama-3.3-70b"},
    {"ollama", "http://127.0.0.1:11434", "qwen2.5-coder:7b"},
};

std::string or_default(const std::string& configured, std::string_view usual) {
  return configured.empty() ? std::string(usual) : configured;
}

Endpoint endpoint_of(const ProviderConfig& provider) {
  Endpoint endpoint;
  endpoint.provider = provider.name;
  endpoint.api_key = provider.api_key;
  for (const Defaults& usual : all_defaults) {
    if (usual.name != provider.name) continue;
    endpoint.base_url = or_default(provider.base_url, usual.base_url);
    endpoint.model = or_default(provider.model, usual.model);
  }
  while (endpoint.base_url.ends_with('/')) endpoint.base_url.pop_back();
  return endpoint;
}

std::unique_ptr<const WireFormat> format_of(const ProviderConfig& provider) {
  if (provider.name == "anthropic") {
    return std::make_unique<AnthropicFormat>(or_default(provider.api_version, "2023-06-01"));
  }
  if (provider.name == "google") {
    return std::make_unique<GoogleFormat>(or_default(provider.api_version, "v1beta"));
  }
  if (provider.name == "ollama") return std::make_unique<OllamaFormat>();
  if (provider.name == "groq") return std::make_unique<OpenAiFormat>(Dialect::groq());
  if (provider.name == "openrouter") return std::make_unique<OpenAiFormat>(Dialect::openrouter());
  if (provider.name == "cerebras") return std::make_unique<OpenAiFormat>(Dialect::cerebras());
  return std::make_unique<OpenAiFormat>(Dialect::openai());
}

// Ollama can be used without any setting, so being usable does not mean that it is there.
bool is_configured(const Config& config, const ProviderConfig& provider) {
  if (!is_usable(config, provider)) return false;
  return provider.name != "ollama" || !provider.base_url.empty() || !provider.model.empty() ||
         !provider.api_key.empty();
}

std::string missing_variable(const std::string& provider) {
  return provider == ReplayProvider::provider_name ? "REPLAY_CASSETTE"
                                                   : variable_of(provider, "_API_KEY");
}

jail::Error unusable(const std::string& provider) {
  return {jail::ErrorKind::invalid,
          "LLM_PROVIDER is " + provider + ", and " + missing_variable(provider) + " is not set", 0,
          "set it, or name another provider"};
}

}  // namespace

jail::Result<std::unique_ptr<Provider>> make_provider(const Config& config,
                                                      const ProviderConfig& provider,
                                                      HttpClient& client) {
  if (!is_usable(config, provider)) return unusable(provider.name);
  if (provider.name != ReplayProvider::provider_name) {
    std::unique_ptr<Provider> made =
        std::make_unique<HttpProvider>(endpoint_of(provider), format_of(provider), client);
    return made;
  }
  auto replay = ReplayProvider::open(config.replay_cassette);
  if (!replay) {
    jail::Error error = replay.error();
    error.doing = "REPLAY_CASSETTE: " + error.doing;
    return error;
  }
  return std::unique_ptr<Provider>(std::move(*replay));
}

jail::Result<std::vector<std::unique_ptr<Provider>>> make_providers(const Config& config,
                                                                    HttpClient& client) {
  const ProviderConfig* active = active_provider(config);
  if (active == nullptr && config.llm_provider) return unusable(*config.llm_provider);
  std::vector<const ProviderConfig*> chosen;
  if (active != nullptr) chosen.push_back(active);
  for (const ProviderConfig& provider : config.providers) {
    if (&provider != active && is_configured(config, provider)) chosen.push_back(&provider);
  }
  if (&config.replay != active && is_usable(config, config.replay)) {
    chosen.push_back(&config.replay);
  }
  // A base URL or a cassette that nothing uses yet does not choose a provider.
  if (active == nullptr) chosen.clear();
  std::vector<std::unique_ptr<Provider>> providers;
  for (const ProviderConfig* provider : chosen) {
    auto made = make_provider(config, *provider, client);
    if (!made) return made.error();
    providers.push_back(std::move(*made));
  }
  return providers;
}

std::string api_url(const ProviderConfig& provider) {
  return format_of(provider)->api_url(endpoint_of(provider));
}

std::string why_no_provider(const Config& config) {
  if (active_provider(config) != nullptr) return {};
  if (config.llm_provider) {
    const std::string& name = *config.llm_provider;
    return "LLM_PROVIDER is " + name + ", and " + missing_variable(name) + " is not set";
  }
  std::string names;
  for (const ProviderConfig& provider : config.providers) {
    if (provider.name != "ollama") names += variable_of(provider.name, "_API_KEY") + ", ";
  }
  return "no LLM provider is configured; set one of " + names +
         "LLM_PROVIDER=ollama, or REPLAY_CASSETTE";
}

}  // namespace runtime::llm
