#include "runtime/config/config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "jail/fd.h"
#include "runtime/config/edit_distance.h"
#include "runtime/config/file_names.h"
#include "runtime/config/settings.h"
#include "runtime/config/text_file.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"

namespace runtime {
namespace {

constexpr std::size_t max_file_bytes = 1u << 20;

using Failure = std::optional<jail::Error>;

// Options of the command line take 5s and 1g. The name of a setting has the unit already.
std::string without_unit(const Setting& setting, std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const bool has_unit = digits != 0 && digits != text.npos &&
                        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(digits), text.end(),
                                    [](char letter) { return std::isalpha(letter) != 0; });
  if (!has_unit) return {};
  if (setting.name.ends_with("_SECONDS")) return ": a number of seconds without a unit";
  return setting.name.ends_with("_MB") ? ": a number of megabytes without a unit" : "";
}

// The text reads: API_PORT in the environment: "x" is not allowed; expected an integer 0 .. 65535.
jail::Error not_allowed(const Setting& setting, const std::string& place, std::string_view text) {
  const std::string value = setting.is_secret() ? "its value" : json::quoted(text);
  return jail::invalid(place + ": " + value + " is not allowed; expected " + setting.allowed +
                       without_unit(setting, text));
}

Failure apply(const Setting& setting, Config& config, std::string_view text,
              const std::string& place) {
  if (setting.apply(config, text)) {
    if (setting.name == "SANDBOX_TIMEOUT_SECONDS") config.sandbox_timeout_place = place;
    if (setting.name == "SANDBOX_MEMORY_LIMIT_MB") config.sandbox_memory_place = place;
    return std::nullopt;
  }
  return not_allowed(setting, place, text);
}

jail::Error unknown_key(const std::vector<Setting>& settings, const std::string& path,
                        const std::string& key) {
  const auto nearest =
      std::min_element(settings.begin(), settings.end(), [&](const Setting& a, const Setting& b) {
        return edit_distance(key, a.key) < edit_distance(key, b.key);
      });
  return jail::invalid(path + ": unknown key " + json::quoted(key) +
                       "; the nearest known one is \"" + nearest->key + "\"");
}

// Prefixes that no other program uses.
constexpr std::string_view own_prefixes[] = {"SANDBOX_", "JOBS_", "LESSONS_"};
// A name without such a prefix is taken for a mistyped setting if it differs in at most this many
// letters.
constexpr std::size_t max_typing_errors = 2;
// Shorter names are near to too many others, such as API_KEY, which other programs have.
constexpr std::size_t min_compared_bytes = 8;
constexpr std::size_t max_unknown_told = 8;
constexpr std::size_t max_name_bytes = 64;  // longer names are compared with nothing

// Returns the kinds of letters in a word, as bits.
std::uint64_t letters_of(std::string_view word) {
  std::uint64_t letters = 0;
  for (const char letter : word) letters |= std::uint64_t{1} << (letter & 63);
  return letters;
}

// Returns a lower bound of edit_distance() that is quick to find: each mistake changes the length
// by at most one, and adds or takes away at most two kinds of letters.
std::size_t min_distance(std::string_view a, std::string_view b) {
  const std::size_t longer = std::max(a.size(), b.size()) - std::min(a.size(), b.size());
  const auto kinds = static_cast<std::size_t>(std::popcount(letters_of(a) ^ letters_of(b)));
  return std::max(longer, (kinds + 1) / 2);
}

// Returns the setting that `name` most likely means; null where `name` is a setting itself or
// belongs to another program.
const Setting* mistyped_setting(const std::vector<Setting>& settings, std::string_view name) {
  if (name.size() > max_name_bytes) return nullptr;
  const bool is_ours = std::ranges::any_of(
      own_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (!is_ours && name.size() < min_compared_bytes) return nullptr;
  if (std::ranges::find(settings, name, &Setting::name) != settings.end()) return nullptr;
  const Setting* nearest = nullptr;
  // An environment has a hundred names, nearly all of other programs: each is compared only with
  // the few settings that it could be.
  std::size_t fewest = is_ours ? 2 * max_name_bytes : max_typing_errors + 1;
  for (const Setting& setting : settings) {
    const std::string_view known = setting.name;
    if (known.empty()) continue;
    // A name such as SANDBOX_TIMEOUT lacks a whole word, _SECONDS, not single letters.
    const bool is_beginning = name.find('_') != name.npos && known.size() > name.size() &&
                              known.starts_with(name) && known[name.size()] == '_';
    if (!is_beginning && min_distance(name, known) >= fewest) continue;
    const std::size_t distance = is_beginning ? max_typing_errors : edit_distance(name, known);
    if (distance >= fewest) continue;
    nearest = &setting;
    fewest = distance;
  }
  return nearest;
}

std::string unknown_variable(std::string_view name, std::string_view where,
                             const Setting& nearest) {
  return json::quoted(name, max_name_bytes) + " in " + std::string(where) +
         " is no setting; the nearest one is \"" + nearest.name + "\"";
}

// Converts a scalar of the file to the text that the environment would have.
std::optional<std::string> scalar_text(const json::Value& value) {
  if (const auto* text = value.as_string()) return *text;
  if (const auto* integer = value.as_integer()) return std::to_string(*integer);
  if (const auto* flag = value.as_bool()) return *flag ? "true" : "false";
  if (const auto* number = value.as_double()) {
    return json::number_text(*number);
  }
  return std::nullopt;
}

std::optional<std::string> value_text(const Setting& setting, const json::Value& value) {
  const json::Array* array = value.as_array();
  if (array == nullptr || !setting.is_list()) return scalar_text(value);
  std::string joined;
  for (const json::Value& item : *array) {
    const std::string* text = item.as_string();
    if (text == nullptr || text->find(',') != text->npos) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

Failure apply_object(const std::vector<Setting>& settings, const json::Object& object,
                     const std::string& prefix, const std::string& path, Config& config) {
  for (const auto& [name, value] : object) {
    const std::string key = prefix + name;
    if (const json::Object* inner = value.as_object(); inner != nullptr && prefix.empty()) {
      if (auto failure = apply_object(settings, *inner, key + ".", path, config)) return failure;
      continue;
    }
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&](const Setting& s) { return s.key == key; });
    if (setting == settings.end()) return unknown_key(settings, path, key);
    const std::string place = key + " in " + path;
    const auto text = value_text(*setting, value);
    if (!text) return jail::invalid(place + ": wrong type; expected " + setting->allowed);
    if (auto failure = apply(*setting, config, *text, place)) return failure;
  }
  return std::nullopt;
}

// A file of the working directory decides where keys are sent and whom programs may reach, so its
// owner and mode are checked.
jail::Result<std::string> read_found_file(const std::string& path) {
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) {
    return jail::Error{jail::ErrorKind::kernel, "open " + path, errno, {}};
  }
  const char* const hint =
      "it was found in the working directory; start in another one, or make it this user's own";
  const bool foreign = status.st_uid != 0 && status.st_uid != ::geteuid();
  if (foreign) {
    const std::string owner = std::to_string(status.st_uid);
    return jail::Error{
        jail::ErrorKind::refused,
        path + ": belongs to user " + owner + ", who is neither root nor the user of this process",
        0, hint};
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    return jail::Error{jail::ErrorKind::refused, path + ": anybody may write to it", 0, hint};
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return jail::Error{jail::ErrorKind::refused, path + ": not a regular file", 0, hint};
  }
  return read_text(file.get(), path, max_file_bytes);
}

jail::Result<std::string> read_source(const std::string& path, bool was_found) {
  return was_found ? read_found_file(path) : read_text_file(path, max_file_bytes);
}

Failure apply_file(const std::vector<Setting>& settings, const ConfigSources& sources,
                   Config& config) {
  if (!sources.file_path) return std::nullopt;
  const auto text = read_source(*sources.file_path, sources.file_was_found);
  if (!text) return text.error();
  const auto root = json::parse(*text, *sources.file_path);
  if (!root) return root.error();
  if (root->as_object() == nullptr)
    return jail::invalid(*sources.file_path + ": expected a JSON object");
  return apply_object(settings, *root->as_object(), "", *sources.file_path, config);
}

// An empty variable counts as not set: compose files and shells pass on missing values like that.
Failure apply_environment(const std::vector<Setting>& settings, const Environment& environment,
                          const std::string& where, Config& config) {
  for (const Setting& setting : settings) {
    const auto entry = environment.find(setting.name);
    if (setting.name.empty() || entry == environment.end() || entry->second.empty()) continue;
    const std::string place = setting.name + " in " + where;
    if (auto failure = apply(setting, config, entry->second, place)) return failure;
  }
  return std::nullopt;
}

Failure apply_dotenv(const std::vector<Setting>& settings, const ConfigSources& sources,
                     Config& config) {
  if (!sources.dotenv_path) return std::nullopt;
  const auto text = read_source(*sources.dotenv_path, sources.dotenv_was_found);
  if (!text) return text.error();
  auto environment = sources.dotenv_prefix.empty()
                         ? parse_dotenv(*text, *sources.dotenv_path)
                         : jail::Result<Environment>(parse_strangers_dotenv(*text));
  if (!environment) return environment.error();
  std::erase_if(*environment, [&](const auto& variable) {
    return !variable.first.starts_with(sources.dotenv_prefix);
  });
  for (const auto& [name, value] : *environment) {
    const Setting* const nearest = mistyped_setting(settings, name);
    if (nearest == nullptr) continue;
    return jail::invalid(unknown_variable(name, *sources.dotenv_path, *nearest));
  }
  return apply_environment(settings, *environment, *sources.dotenv_path, config);
}

Failure apply_flags(const std::vector<Setting>& settings, const std::vector<FlagSetting>& flags,
                    Config& config) {
  for (const FlagSetting& flag : flags) {
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&](const Setting& s) { return s.name == flag.name; });
    if (setting == settings.end())
      return jail::invalid(flag.flag + ": unknown setting " + flag.name);
    if (auto failure = apply(*setting, config, flag.value, flag.flag)) return failure;
  }
  return std::nullopt;
}

bool is_reached_by_others(const Config& config) {
  return !is_loopback(config.api_host) && !unix_path(config.api_host);
}

std::string seconds_text(std::chrono::milliseconds duration) {
  return json::number_text(static_cast<double>(duration.count()) / 1000);
}

Failure check_ceilings(const Config& config) {
  if (config.sandbox_timeout > config.ceilings.timeout) {
    return jail::invalid("SANDBOX_TIMEOUT_SECONDS: " + seconds_text(config.sandbox_timeout) +
                         " is above ceilings.timeout_seconds, which is " +
                         seconds_text(config.ceilings.timeout));
  }
  if (config.sandbox_memory_limit_mb > config.ceilings.memory_limit_mb) {
    return jail::invalid(
        "SANDBOX_MEMORY_LIMIT_MB: " + std::to_string(config.sandbox_memory_limit_mb) +
        " is above ceilings.memory_limit_mb, which is " +
        std::to_string(config.ceilings.memory_limit_mb));
  }
  return std::nullopt;
}

// A list with one entry for each key, if it is set at all.
Failure check_number(const Config& config, const char* name, std::size_t entries) {
  if (entries == 0 || entries == config.api_keys.size()) return std::nullopt;
  return jail::invalid(std::string(name) + ": " + std::to_string(entries) + " for " +
                       std::to_string(config.api_keys.size()) +
                       " keys in API_KEYS; expected one for each key, in the same order");
}

// A key that is listed twice would have two meanings.
Failure check_keys(const Config& config) {
  if (auto failure = check_number(config, "API_KEY_SCOPES", config.api_key_scopes.size())) {
    return failure;
  }
  if (auto failure = check_number(config, "API_KEY_TENANTS", config.api_key_tenants.size())) {
    return failure;
  }
  if (config.api_key_scopes.empty() && config.api_key_tenants.empty()) return std::nullopt;
  const auto& keys = config.api_keys;
  for (std::size_t second = 1; second < keys.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (keys[first].reveal() != keys[second].reveal()) continue;
      return jail::invalid("API_KEYS: keys " + std::to_string(first + 1) + " and " +
                           std::to_string(second + 1) +
                           " are the same; where API_KEY_SCOPES or API_KEY_TENANTS is set, "
                           "expected each once");
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<ProviderConfig> known_providers() {
  std::vector<ProviderConfig> providers;
  for (const char* name :
       {"groq", "openrouter", "anthropic", "google", "openai", "cerebras", "ollama"}) {
    ProviderConfig provider;
    provider.name = name;
    providers.push_back(std::move(provider));
  }
  return providers;
}

bool is_model_name(std::string_view name) {
  constexpr std::size_t longest = 256;
  return !name.empty() && name.size() <= longest && name.find("..") == name.npos &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

void find_default_files(ConfigSources& sources) {
  const auto is_there = [](const char* path) {
    return ::faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
  };
  if (!sources.file_path && is_there(config_file_name)) {
    sources.file_path = config_file_name;
    sources.file_was_found = true;
  }
  if (!sources.dotenv_path && is_there(dotenv_file_name)) {
    sources.dotenv_path = dotenv_file_name;
    sources.dotenv_was_found = true;
  }
}

jail::Result<Config> load_config(const ConfigSources& sources) {
  const std::vector<Setting> settings = all_settings();
  Config config;
  if (auto failure = apply_file(settings, sources, config)) return std::move(*failure);
  if (auto failure = apply_dotenv(settings, sources, config)) return std::move(*failure);
  if (auto failure = apply_environment(settings, sources.environment, "the environment", config)) {
    return std::move(*failure);
  }
  if (auto failure = apply_flags(settings, sources.flags, config)) return std::move(*failure);
  if (auto failure = check_ceilings(config)) return std::move(*failure);
  if (auto failure = check_keys(config)) return std::move(*failure);
  if (config.network_enabled && config.network_allow.empty()) {
    return jail::Error{jail::ErrorKind::invalid,
                       "SANDBOX_NETWORK_ENABLED: true needs SANDBOX_NETWORK_ALLOW, the "
                       "destinations that requests may name",
                       0,
                       {}};
  }
  return config;
}

std::vector<std::string> mistyped_variables(const Environment& environment) {
  const std::vector<Setting> settings = all_settings();
  std::vector<std::string> told;
  for (const auto& [name, value] : environment) {
    const Setting* const nearest = mistyped_setting(settings, name);
    if (nearest == nullptr || value.empty()) continue;
    told.push_back(unknown_variable(name, "the environment", *nearest));
    if (told.size() == max_unknown_told) break;
  }
  return told;
}

bool is_usable(const Config& config, const ProviderConfig& provider) {
  if (provider.name == config.replay.name) return !config.replay_cassette.empty();
  // A provider other than these answers nothing without a key. Ollama runs beside the server and
  // takes no key, and a server behind a custom base URL may not take one either.
  return !provider.api_key.empty() || provider.name == "ollama" ||
         (provider.name == "openai" && !provider.base_url.empty());
}

const ProviderConfig* active_provider(const Config& config) {
  const bool plays = config.llm_provider ? *config.llm_provider == config.replay.name
                                         : !config.replay_cassette.empty();
  if (plays) return is_usable(config, config.replay) ? &config.replay : nullptr;
  for (const ProviderConfig& provider : config.providers) {
    const bool chosen =
        config.llm_provider ? provider.name == *config.llm_provider : !provider.api_key.empty();
    if (chosen) return is_usable(config, provider) ? &provider : nullptr;
  }
  return nullptr;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr v4;
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  if (::inet_pton(AF_INET6, text.c_str(), &v6) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

std::optional<std::string> unix_path(std::string_view host) {
  constexpr std::string_view scheme = "unix:";
  if (!host.starts_with(scheme)) return std::nullopt;
  return std::string(host.substr(scheme.size()));
}

std::uint32_t connections_per_peer(const Config& config) {
  if (config.api_max_connections_per_peer) return *config.api_max_connections_per_peer;
  return is_reached_by_others(config) ? std::max(1u, config.api_max_connections / 2) : 0;
}

jail::Result<void> check_exposure(const Config& config) {
  if (!is_reached_by_others(config)) return {};
  if (!config.api_keys.empty()) return {};
  return jail::Error{
      jail::ErrorKind::refused,
      "API_HOST " + config.api_host + " can be reached by others and no API key is configured", 0,
      "set API_KEYS, or bind 127.0.0.1"};
}

}  // namespace runtime
