#include "server/api/task_rules.h"

#include "server/api/decode_task.h"

namespace server {
namespace {

std::string key_variable(const std::string& provider) {
  std::string name = provider + "_API_KEY";
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

// Ollama runs beside us and takes no key.
bool needs_key(const runtime::ProviderConfig& provider) { return provider.name != "ollama"; }

std::string why_not(const runtime::ProviderConfig& provider) {
  if (!needs_key(provider) || !provider.api_key.empty()) return {};
  return provider.name + " is not configured; set " + key_variable(provider.name);
}

}  // namespace

std::string why_no_task(const runtime::Config& config) {
  if (runtime::active_provider(config) != nullptr) return {};
  if (config.llm_provider) {
    return "task: the key of the configured provider (" + *config.llm_provider +
           ") is not set; set " + key_variable(*config.llm_provider);
  }
  std::string names;
  for (const auto& provider : config.providers) {
    if (needs_key(provider)) names += key_variable(provider.name) + ", ";
  }
  return "task: no LLM provider is configured; set one of " + names + "or LLM_PROVIDER=ollama";
}

std::string why_no_provider(const runtime::Config& config, const std::string& name) {
  if (name.empty()) return why_no_task(config);
  const TaskRules rules = task_rules(config);
  const auto found = rules.providers.find(name);
  if (found == rules.providers.end()) return "provider: " + unknown_provider(rules);
  return found->second.empty() ? std::string() : "provider: " + found->second;
}

TaskRules task_rules(const runtime::Config& config) {
  TaskRules rules;
  rules.default_max_attempts = config.max_reflexion_attempts;
  for (const auto& provider : config.providers) rules.providers[provider.name] = why_not(provider);
  return rules;
}

}  // namespace server
