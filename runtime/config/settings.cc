#include "runtime/config/settings.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "jail/egress.h"
#include "runtime/config/provider_settings.h"
#include "runtime/config/setting_text.h"

namespace runtime {
namespace {

using Apply = std::function<bool(Config&, std::string_view)>;

constexpr std::uint32_t max_requests = 1'000'000;

template <class Number>
std::optional<Number> number_in(std::string_view text, Number low, Number high) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(value >= low && value <= high)) return std::nullopt;  // NaN is in no range
  return value;
}

Apply absolute_path(std::string Config::*field) {
  return [=](Config& config, std::string_view text) {
    config.*field = text;
    return text.starts_with('/') && text.size() > 1;
  };
}

template <class Field>
Apply integer(Field Config::*field, Field low, Field high) {
  return [=](Config& config, std::string_view text) {
    const auto value = number_in<Field>(text, low, high);
    if (value) config.*field = *value;
    return value.has_value();
  };
}

std::optional<std::chrono::milliseconds> seconds(std::string_view text, double high) {
  const auto value = number_in<double>(text, 0.05, high);
  if (!value) return std::nullopt;
  return std::chrono::milliseconds(std::llround(*value * 1000));
}

Apply from_one_second(std::chrono::milliseconds Config::*field, double high) {
  return [=](Config& config, std::string_view text) {
    const auto value = seconds(text, high);
    if (value) config.*field = *value;
    return value && *value >= std::chrono::seconds(1);
  };
}

std::optional<bool> boolean(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0") return false;
  return std::nullopt;
}

bool is_address(const std::string& host) {
  in6_addr address;
  return host == "localhost" || ::inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// The path, with the NUL that ends it, must fit into an address.
bool is_socket_path(std::string_view path) {
  return path.starts_with('/') && !path.ends_with('/') && path.find('\0') == path.npos &&
         path.size() < sizeof sockaddr_un::sun_path;
}

bool apply_host(Config& config, std::string_view text) {
  const auto path = unix_path(text);
  if (path ? !is_socket_path(*path) : !is_address(std::string(text))) return false;
  config.api_host = text;
  return true;
}

// The owner must have the right to write, without which nobody can connect.
bool apply_socket_mode(Config& config, std::string_view text) {
  std::uint32_t mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  config.api_socket_mode = mode;
  return (mode & 0600) == 0600 && (mode & ~0666u) == 0;
}

bool apply_keys(Config& config, std::string_view text) {
  const auto keys = items(text);
  if (!keys || !std::all_of(keys->begin(), keys->end(), is_visible_ascii)) return false;
  config.api_keys.clear();
  for (const std::string& key : *keys) config.api_keys.emplace_back(key);
  return true;
}

bool apply_key_scopes(Config& config, std::string_view text) {
  const auto entries = items(text);
  if (!entries) return false;
  config.api_key_scopes.clear();
  for (const std::string& entry : *entries) {
    const auto scopes = scopes_named(entry);
    if (!scopes) return false;
    config.api_key_scopes.push_back(*scopes);
  }
  return true;
}

bool apply_key_tenants(Config& config, std::string_view text) {
  auto names = items(text);
  if (!names || !std::all_of(names->begin(), names->end(), is_tenant_name)) return false;
  config.api_key_tenants = std::move(*names);
  return true;
}

// Accepts "20/s", "600/m", "5000/h", "0".
bool apply_key_rate(Config& config, std::string_view text) {
  config.api_key_rate = {};
  if (text == "0") return true;
  if (text.ends_with("/s")) {
    config.api_key_rate.time = std::chrono::seconds(1);
  } else if (text.ends_with("/m")) {
    config.api_key_rate.time = std::chrono::minutes(1);
  } else if (text.ends_with("/h")) {
    config.api_key_rate.time = std::chrono::hours(1);
  } else {
    return false;
  }
  const auto requests = number_in<std::uint32_t>(text.substr(0, text.size() - 2), 1, max_requests);
  if (requests) config.api_key_rate.requests = *requests;
  return requests.has_value();
}

bool apply_allowed_hosts(Config& config, std::string_view text) {
  auto hosts = items(lower(text));
  if (!hosts || !std::all_of(hosts->begin(), hosts->end(), is_visible_ascii)) return false;
  config.api_allowed_hosts = std::move(*hosts);
  return true;
}

bool apply_cgroup(Config& config, std::string_view text) {
  if (text != "auto" && text != "own" && text != "none" && !text.starts_with('/')) return false;
  config.cgroup = text;
  return true;
}

bool apply_network(Config& config, std::string_view text) {
  const auto value = boolean(text);
  config.network_enabled = value.value_or(false);
  return value.has_value();
}

bool apply_network_allow(Config& config, std::string_view text) {
  auto rules = items(text);
  if (!rules) return false;
  const bool good = std::all_of(rules->begin(), rules->end(), [](const std::string& rule) {
    return jail::check_egress_rule(rule).has_value();
  });
  config.network_allow = std::move(*rules);
  return good;
}

// The rules are those of egress. A scheme may precede one; without it the scheme is https.
bool apply_webhooks_allow(Config& config, std::string_view text) {
  auto rules = items(text);
  if (!rules) return false;
  const bool good = std::all_of(rules->begin(), rules->end(), [](std::string_view rule) {
    constexpr std::string_view http = "http://";
    if (rule.starts_with(http)) rule.remove_prefix(http.size());
    return jail::check_egress_rule(rule).has_value();
  });
  config.webhooks_allow = std::move(*rules);
  return good;
}

// Accepts labels of letters, digits and hyphens. A port and an id, together 33 bytes, are put in
// front of them.
bool apply_ports_domain(Config& config, std::string_view text) {
  constexpr std::size_t max_bytes = 200;
  config.sandbox_ports_domain = lower(text);
  std::string_view rest = config.sandbox_ports_domain;
  if (rest.empty() || rest.size() > max_bytes || rest.ends_with('.')) return false;
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find('.'));
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-";
    if (label.empty() || label.size() > 63 || label.starts_with('-') || label.ends_with('-') ||
        label.find_first_not_of(letters) != label.npos) {
      return false;
    }
    rest.remove_prefix(std::min(label.size() + 1, rest.size()));
  }
  return true;
}

bool apply_log_level(Config& config, std::string_view text) {
  const std::string word = lower(text);
  if (word == "debug") {
    config.log_level = LogLevel::debug;
  } else if (word == "info") {
    config.log_level = LogLevel::info;
  } else if (word == "warning" || word == "warn") {
    config.log_level = LogLevel::warning;
  } else if (word == "error") {
    config.log_level = LogLevel::error;
  } else {
    return false;
  }
  return true;
}

bool apply_log_format(Config& config, std::string_view text) {
  const std::string word = lower(text);
  if (word != "text" && word != "json") return false;
  config.log_format = word == "json" ? LogFormat::json : LogFormat::text;
  return true;
}

bool apply_jobs_path(Config& config, std::string_view text) {
  if (!is_database_path(text)) return false;
  config.jobs_path = text;
  return true;
}

bool apply_lessons_path(Config& config, std::string_view text) {
  if (!is_database_path(text)) return false;
  config.lessons_path = text;
  return true;
}

bool apply_lessons(Config& config, std::string_view text) {
  const std::string word = lower(text);
  config.lessons = word != "off" && word != "false" && word != "0";
  return !config.lessons || word == "on" || word == "true" || word == "1";
}

bool apply_drain(Config& config, std::string_view text) {
  const auto value = number_in<double>(text, 0, 3600);
  if (value) config.drain = std::chrono::milliseconds(std::llround(*value * 1000));
  return value.has_value();
}

std::string file_key(std::string_view name) { return lower(name); }

void add_server_settings(std::vector<Setting>& settings) {
  const auto add = [&](std::string name, std::string allowed, Apply apply,
                       Setting::Kind kind = Setting::Kind::plain) {
    settings.push_back({name, file_key(name), std::move(allowed), std::move(apply), kind});
  };
  add("API_HOST", "an IP address, localhost, or unix: and an absolute path of at most 107 bytes",
      apply_host);
  add("API_SOCKET_MODE", "an octal mode from 0600 to 0666, for reading and writing alone",
      apply_socket_mode);
  add("API_PORT", "an integer 0 .. 65535 (0: any free port)",
      integer<std::uint16_t>(&Config::api_port, 0, 65535));
  add("API_KEYS", "keys without blanks, separated by commas", apply_keys,
      Setting::Kind::secret_list);
  add("API_KEY_SCOPES",
      "for each key all, or those of execute, sandboxes, read and metrics that it has, joined by "
      "+; separated by commas",
      apply_key_scopes, Setting::Kind::list);
  add("API_KEY_TENANTS",
      "for each key the name of its tenant, of at most 64 letters, digits, ., _ and -; separated "
      "by commas",
      apply_key_tenants, Setting::Kind::list);
  add("API_ALLOWED_HOSTS", "host names, separated by commas", apply_allowed_hosts,
      Setting::Kind::list);
  add("API_MAX_CONNECTIONS", "an integer 1 .. 65536",
      integer<std::uint32_t>(&Config::api_max_connections, 1, 65536));
  add("API_MAX_CONNECTIONS_PER_PEER", "an integer 0 .. 65536 (0: no bound of its own)",
      [](Config& config, std::string_view text) {
        config.api_max_connections_per_peer = number_in<std::uint32_t>(text, 0, 65536);
        return config.api_max_connections_per_peer.has_value();
      });
  add("API_IDLE_SECONDS", "a number of seconds 1 .. 3600",
      from_one_second(&Config::api_idle, 3600));
  add("API_KEY_CONCURRENCY", "an integer 0 .. 65536 (0: no bound)",
      integer<std::uint32_t>(&Config::api_key_concurrency, 0, 65536));
  add("API_KEY_RATE",
      "requests 1 .. 1000000 and their time, as in 20/s, 600/m or 5000/h (0: no bound)",
      apply_key_rate);
  add("API_KEY_BURST", "an integer 1 .. 1000000",
      integer<std::uint32_t>(&Config::api_key_burst, 1, max_requests));
  add("LOG_LEVEL", "debug, info, warning or error", apply_log_level);
  add("LOG_FORMAT", "text or json", apply_log_format);
  add(
      "QDRANT_URL", base_url_allowed,
      [](Config& config, std::string_view text) {
        config.qdrant_url = Secret(std::string(text));
        return is_base_url(text);
      },
      Setting::Kind::secret);
  add(
      "QDRANT_API_KEY", "a key without blanks",
      [](Config& config, std::string_view text) {
        config.qdrant_api_key = Secret(std::string(text));
        return is_visible_ascii(text);
      },
      Setting::Kind::secret);
  add(
      "REDIS_URL", "a redis://, rediss:// or unix:// URL",
      [](Config& config, std::string_view text) {
        config.redis_url = Secret(std::string(text));
        return text.starts_with("redis://") || text.starts_with("rediss://") ||
               text.starts_with("unix://");
      },
      Setting::Kind::secret);
}

void add_operating_settings(std::vector<Setting>& settings) {
  const auto add = [&](std::string name, std::string allowed, Apply apply) {
    settings.push_back({name, file_key(name), std::move(allowed), std::move(apply)});
  };
  add("JOBS_PATH", "an absolute path, or :memory:", apply_jobs_path);
  add("JOBS_KEPT", "an integer 0 .. 1000000",
      integer<std::uint32_t>(&Config::jobs_kept, 0, 1'000'000));
  add("JOBS_MAX_MB", "an integer 1 .. 1048576",
      integer<std::uint32_t>(&Config::jobs_max_mb, 1, 1u << 20));
  add("SANDBOX_EVENTS_KEPT", "an integer 0 .. 1000000",
      integer<std::uint32_t>(&Config::sandbox_events_kept, 0, 1'000'000));
  add("JOBS_DURABLE", "true or false", [](Config& config, std::string_view text) {
    const auto value = boolean(text);
    if (value) config.jobs_durable = *value;
    return value.has_value();
  });
  add("LESSONS", "on or off", apply_lessons);
  add("LESSONS_PATH", "an absolute path, or :memory:", apply_lessons_path);
  add("LESSONS_KEPT", "an integer 1 .. 1000000",
      integer<std::uint32_t>(&Config::lessons_kept, 1, 1'000'000));
  add("EMBEDDING_MODEL", "a model's name without blanks and ..",
      [](Config& config, std::string_view text) {
        config.embedding_model = text;
        return is_model_name(text);
      });
  add("DRAIN_SECONDS", "a number 0 .. 3600", apply_drain);
}

void add_sandbox_settings(std::vector<Setting>& settings) {
  const auto add = [&](std::string name, std::string allowed, Apply apply) {
    settings.push_back({name, file_key(name), std::move(allowed), std::move(apply)});
  };
  add("SANDBOX_TIMEOUT_SECONDS", "a number 0.05 .. 86400",
      [](Config& config, std::string_view text) {
        const auto value = seconds(text, 86400);
        if (value) config.sandbox_timeout = *value;
        return value.has_value();
      });
  add("SANDBOX_MEMORY_LIMIT_MB", "an integer 32 .. 1048576",
      integer<std::uint32_t>(&Config::sandbox_memory_limit_mb, min_memory_limit_mb, 1u << 20));
  add("SANDBOX_CPU_LIMIT", "a number of cores 0.05 .. 1024",
      [](Config& config, std::string_view text) {
        const auto value = number_in<double>(text, 0.05, largest_cpu_limit);
        if (value) config.sandbox_cpu_limit = *value;
        return value.has_value();
      });
  add("SANDBOX_POOL_SIZE", "an integer 0 .. 64",
      integer<std::uint32_t>(&Config::sandbox_pool_size, 0, 64));
  add("SANDBOX_TEMPLATES_DIR", "an absolute path", absolute_path(&Config::sandbox_templates_dir));
  add("SANDBOX_MAX_RUNNING", "an integer 1 .. 4096",
      integer<std::uint32_t>(&Config::sandbox_max_running, 1, 4096));
  add("SANDBOX_MAX_QUEUED", "an integer 0 .. 65536",
      integer<std::uint32_t>(&Config::sandbox_max_queued, 0, 65536));
  add("SANDBOX_MAX_LIVING", "an integer 0 .. 10000",
      integer<std::uint32_t>(&Config::sandbox_max_living, 0, 10'000));
  add("SANDBOX_MAX_LIFETIME_SECONDS", "a number of seconds 1 .. 2592000",
      from_one_second(&Config::sandbox_max_lifetime, longest_lifetime.count()));
  add("SANDBOX_MAX_PAUSED_SECONDS", "a number of seconds 1 .. 2592000",
      from_one_second(&Config::sandbox_max_paused, 2'592'000));
  add("SANDBOX_DISK_PATH", "an absolute path", absolute_path(&Config::sandbox_disk_path));
  add("SANDBOX_MAX_DISK_MB", "an integer 1 .. 1048576",
      integer<std::uint32_t>(&Config::sandbox_max_disk_mb, 1, largest_directory_mb));
  add("SANDBOX_DISK_RESERVE_MB", "an integer 0 .. 1048576",
      integer<std::uint32_t>(&Config::sandbox_disk_reserve_mb, 0, 1u << 20));
  add("SANDBOX_MAX_VOLUMES", "an integer 0 .. 10000",
      integer<std::uint32_t>(&Config::sandbox_max_volumes, 0, 10'000));
  add("SANDBOX_MAX_VOLUMES_MB", "an integer 0 .. 16777216",
      integer<std::uint32_t>(&Config::sandbox_max_volumes_mb, 0, 1u << 24));
  add("SANDBOX_PORTS_DOMAIN", "a domain name of at most 200 bytes", apply_ports_domain);
  add("SANDBOX_PORTS_TIMEOUT_SECONDS", "a number of seconds 1 .. 86400",
      from_one_second(&Config::sandbox_ports_timeout, 86400));
  add("SANDBOX_NETWORK_ENABLED", "true or false", apply_network);
  add("SANDBOX_NETWORK_ALLOW",
      "destinations such as pypi.org:443, *.example.org:443, 10.0.0.0/8:5432 or, for all public "
      "IPv4 addresses, 0.0.0.0/0:443, separated by commas",
      apply_network_allow);
  add("SANDBOX_SECRETS_CA_FILE", "an absolute path",
      absolute_path(&Config::sandbox_secrets_ca_file));
  add("SANDBOX_WEBHOOKS_ALLOW",
      "destinations such as hooks.example.org:443, *.example.org:443 or http://10.0.0.0/8:8080, "
      "separated by commas",
      apply_webhooks_allow);
  add("SANDBOX_WEBHOOKS_RETRY_SECONDS", "a number of seconds 1 .. 2592000",
      from_one_second(&Config::webhooks_retry, 2'592'000));
  settings.push_back({"SANDBOX_ROOTFS", "rootfs", "host, or an absolute path other than /",
                      [](Config& config, std::string_view text) {
                        config.rootfs = text;
                        return text == "host" || (text.starts_with('/') && text.size() > 1);
                      }});
  add("MAX_REFLEXION_ATTEMPTS", "an integer 1 .. 10",
      integer<std::uint32_t>(&Config::max_reflexion_attempts, 1, 10));
  settings.push_back({"", "ceilings.timeout_seconds", "a number 0.05 .. 86400",
                      [](Config& config, std::string_view text) {
                        const auto value = seconds(text, 86400);
                        if (value) config.ceilings.timeout = *value;
                        return value.has_value();
                      }});
  settings.push_back({"", "ceilings.memory_limit_mb", "an integer 32 .. 1048576",
                      [](Config& config, std::string_view text) {
                        const auto value =
                            number_in<std::uint32_t>(text, min_memory_limit_mb, 1u << 20);
                        if (value) config.ceilings.memory_limit_mb = *value;
                        return value.has_value();
                      }});
  settings.push_back({"SANDBOX_CGROUP", "cgroup",
                      "auto, own, none or the absolute path of a cgroup v2 directory",
                      apply_cgroup});
  settings.push_back({"SANDBOX_REQUIRE_CGROUP", "require_cgroup", "true or false",
                      [](Config& config, std::string_view text) {
                        const auto value = boolean(text);
                        if (value) config.require_cgroup = *value;
                        return value.has_value();
                      }});
  add("SANDBOX_USERS", "off, auto or FIRST:COUNT, a range of users that are nobody's",
      [](Config& config, std::string_view text) { return read_users(text, config.jail_users); });
}

}  // namespace

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  add_server_settings(settings);
  add_sandbox_settings(settings);
  add_operating_settings(settings);
  add_provider_settings(settings);
  return settings;
}

}  // namespace runtime
