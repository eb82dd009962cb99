#include "runtime/service/task_rules.h"

#include <algorithm>

#include "runtime/llm/providers.h"

namespace runtime {
namespace {

std::string key_variable(const std::string& provider) {
  std::string name = provider + "_API_KEY";
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::string how_to_configure(const Config& config, const std::string& provider) {
  if (provider == config.replay.name) return "set REPLAY_CASSETTE";
  if (provider == "ollama") return "set LLM_PROVIDER=ollama or OLLAMA_BASE_URL";
  return "set " + key_variable(provider);
}

}  // namespace

std::string why_no_task(const Config& config) {
  const std::string why = llm::why_no_provider(config);
  return why.empty() ? why : "task: " + why;
}

TaskRules task_rules(const Config& config, const std::vector<std::string>& providers) {
  TaskRules rules;
  rules.default_max_attempts = config.max_reflexion_attempts;
  std::vector<std::string> known = {config.replay.name};
  for (const auto& provider : config.providers) known.push_back(provider.name);
  for (const std::string& name : known) {
    const bool there = std::find(providers.begin(), providers.end(), name) != providers.end();
    rules.providers[name] =
        there ? "" : name + " is not configured; " + how_to_configure(config, name);
  }
  return rules;
}

std::string unknown_provider(const TaskRules& rules) {
  std::string names;
  for (const auto& [known, why] : rules.providers) names += (names.empty() ? "" : ", ") + known;
  return "expected one of " + names;
}

std::string why_not_provider(const TaskRules& rules, const std::string& provider) {
  const auto found = rules.providers.find(provider);
  if (found == rules.providers.end()) return unknown_provider(rules);
  return found->second;
}

}  // namespace runtime
