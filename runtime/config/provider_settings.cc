#include "runtime/config/provider_settings.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/config/setting_text.h"

namespace runtime {
namespace {

ProviderConfig* provider_named(Config& config, std::string_view name) {
  const auto found = std::find_if(config.providers.begin(), config.providers.end(),
                                  [&](const ProviderConfig& p) { return p.name == name; });
  return found == config.providers.end() ? nullptr : &*found;
}

void add_version(std::vector<Setting>& settings, const std::string& provider,
                 const std::vector<std::string>& versions) {
  std::string allowed;
  for (const std::string& version : versions) allowed += (allowed.empty() ? "" : ", ") + version;
  settings.push_back({upper(provider) + "_API_VERSION", provider + "_api_version",
                      "one of " + allowed, [=](Config& config, std::string_view text) {
                        provider_named(config, provider)->api_version = text;
                        return std::find(versions.begin(), versions.end(), text) != versions.end();
                      }});
}

}  // namespace

void add_provider_settings(std::vector<Setting>& settings) {
  const std::vector<ProviderConfig> providers = known_providers();
  std::string names;
  for (std::size_t i = 0; i < providers.size(); ++i) {
    const std::string& name = providers[i].name;
    names += (names.empty() ? "" : ", ") + name;
    const std::string prefix = upper(name);
    settings.push_back({prefix + "_API_KEY", name + "_api_key", "a key without blanks",
                        [i](Config& config, std::string_view text) {
                          config.providers[i].api_key = Secret(std::string(text));
                          return is_visible_ascii(text);
                        },
                        Setting::Kind::secret});
    settings.push_back({prefix + "_MODEL", name + "_model", "a model's name without blanks and ..",
                        [i](Config& config, std::string_view text) {
                          config.providers[i].model = text;
                          return is_model_name(text);
                        }});
    settings.push_back({prefix + "_BASE_URL", name + "_base_url", base_url_allowed,
                        [i](Config& config, std::string_view text) {
                          config.providers[i].base_url = text;
                          return is_base_url(text);
                        }});
  }
  settings.push_back({"LLM_PROVIDER", "llm_provider", "one of " + names + ", replay",
                      [](Config& config, std::string_view text) {
                        config.llm_provider = lower(text);
                        return *config.llm_provider == config.replay.name ||
                               provider_named(config, *config.llm_provider) != nullptr;
                      }});
  settings.push_back({"REPLAY_CASSETTE", "replay_cassette", "the path of a file",
                      [](Config& config, std::string_view text) {
                        config.replay_cassette = text;
                        return !text.empty() && text.find('\0') == text.npos;
                      }});
  add_version(settings, "anthropic", {"2023-06-01", "2026-10-21"});
  add_version(settings, "google", {"v1", "v1beta", "v1alpha"});
}

}  // namespace runtime
