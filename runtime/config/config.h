// Everything that an operator can set, read once at the start from defaults, a file, the
// environment and flags, each of which overrides the one before.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jail/result.h"
#include "runtime/config/environment.h"
#include "runtime/config/scope.h"
#include "runtime/config/secret.h"
#include "runtime/observe/logger.h"

namespace runtime {

// The most that a request may ask for.
struct Ceilings {
  std::chrono::milliseconds timeout{60'000};
  std::uint32_t memory_limit_mb = 2048;
};

// A number of requests in a period of time.
struct Rate {
  std::uint32_t requests = 0;  // 0: no bound
  std::chrono::seconds time{1};
};

inline constexpr std::chrono::milliseconds min_timeout{50};
inline constexpr std::uint32_t min_memory_limit_mb = 32;

struct ProviderConfig {
  // Such as "groq".
  std::string name;
  // Empty, as are the two below: the provider's default.
  Secret api_key;
  // Empty, as the two behind it: the provider's default.
  std::string model;
  std::string base_url;
  // Only anthropic and google have one.
  std::string api_version;
};

// The providers that are reached by HTTP.
std::vector<ProviderConfig> known_providers();

// The longest lifetime that an operator may allow a sandbox.
inline constexpr std::chrono::seconds longest_lifetime{2'592'000};

// Returns whether it is a model's name, without anything that would lead to another place in a URL
// or a log.
bool is_model_name(std::string_view name);

// Comments stand above their fields here: behind them, a new field would have its neighbours'
// realigned.
// Users of the host for jails, of which each has one of its own, and as many groups of the same
// numbers.
struct JailUsers {
  enum class Mode : std::uint8_t { off, automatic, range };

  Mode mode = Mode::automatic;
  std::uint32_t first = 0;  // with range
  std::uint32_t count = 0;
};

// The largest disk that SANDBOX_MAX_DISK_MB may allow.
inline constexpr std::uint32_t largest_directory_mb = 1u << 20;
inline constexpr double largest_cpu_limit = 1024;

struct Config {
  // An address, or "unix:" and a path, see unix_path().
  std::string api_host = "127.0.0.1";
  // Used where api_host names no path.
  std::uint16_t api_port = 8000;
  std::uint32_t api_socket_mode = 0600;
  std::vector<Secret> api_keys;
  // The scopes of each of these keys; an empty list: every key has all scopes.
  std::vector<Scopes> api_key_scopes;
  // The names of the keys' tenants: keys of one tenant share what they own. Empty: each key is a
  // tenant of its own.
  std::vector<std::string> api_key_tenants;
  // In addition to the loopback names.
  std::vector<std::string> api_allowed_hosts;
  std::uint32_t api_max_connections = 512;
  // nullopt: see connections_per_peer().
  std::optional<std::uint32_t> api_max_connections_per_peer;
  // How long an idle connection is kept.
  std::chrono::milliseconds api_idle{60'000};
  // The number of programs of one key, running and waiting; 0: no bound.
  std::uint32_t api_key_concurrency = 0;
  Rate api_key_rate;
  // 0: as many as the rate's requests.
  std::uint32_t api_key_burst = 0;

  std::chrono::milliseconds sandbox_timeout{5000};
  std::uint32_t sandbox_memory_limit_mb = 256;
  double sandbox_cpu_limit = 1.0;
  // The number of jails that wait for Python programs; 0: no jails wait, for any language.
  std::uint32_t sandbox_pool_size = 8;
  // An absolute path; empty: only the shipped templates.
  std::string sandbox_templates_dir;
  std::uint32_t sandbox_max_running = 16;
  std::uint32_t sandbox_max_queued = 256;
  // The number of sandboxes that live at a time; 0: none can be made.
  std::uint32_t sandbox_max_living = 100;
  // The longest lifetime that requests may ask for.
  std::chrono::milliseconds sandbox_max_lifetime{std::chrono::hours(24)};
  // The domain of the host names of sandboxes' ports, as in 8000-ID.DOMAIN; empty: there are none.
  std::string sandbox_ports_domain;
  // How long a server in a sandbox may take to begin its answer.
  std::chrono::milliseconds sandbox_ports_timeout{60'000};
  // How long a paused sandbox is kept.
  std::chrono::milliseconds sandbox_max_paused{std::chrono::hours(24)};
  // The directory for sandboxes' disks that lie on the host's disk and not in memory; empty: no
  // sandbox can have one.
  std::string sandbox_disk_path;
  // The largest of these disks that requests may ask for.
  std::uint32_t sandbox_max_disk_mb = 10'240;
  // The space on the host's disk that these disks leave free.
  std::uint32_t sandbox_disk_reserve_mb = 1024;
  // How many volumes there may be, and the MB that all of them together may be made for.
  std::uint32_t sandbox_max_volumes = 100;
  std::uint32_t sandbox_max_volumes_mb = 102'400;
  Ceilings ceilings;
  // Whether requests may ask for egress, and the rules (jail/egress.h) within which they must stay.
  bool network_enabled = false;
  std::vector<std::string> network_allow;
  // The file of the certificate authorities, in PEM, that are trusted in place of the system's when
  // secrets are added to requests of sandboxes; empty: the system's.
  std::string sandbox_secrets_ca_file;
  // The allowed destinations of webhooks (runtime/service/webhook_destinations.h); empty: there are
  // no webhooks.
  std::vector<std::string> webhooks_allow;
  // How long a webhook may fail before it is disabled.
  std::chrono::milliseconds webhooks_retry{std::chrono::hours(24)};
  // "auto", "own", "none", or a directory of cgroup v2.
  std::string cgroup = "auto";
  bool require_cgroup = false;
  JailUsers jail_users;
  // "host", an absolute path, or empty: a built root where there is one.
  std::string rootfs;

  // The configured provider; active_provider() says which one is used.
  std::optional<std::string> llm_provider;
  // Every known provider; among those whose key is set, the first is preferred.
  std::vector<ProviderConfig> providers = known_providers();
  // The provider that plays replay_cassette; it takes no key.
  ProviderConfig replay{"replay", {}, {}, {}, {}};
  // A file; empty: none.
  std::string replay_cassette;
  std::uint32_t max_reflexion_attempts = 3;

  // nullopt: the usual place.
  std::optional<std::string> jobs_path;
  std::uint32_t jobs_kept = 1000;
  std::uint32_t jobs_max_mb = 256;
  // Whether answers wait until their results are on the disk.
  bool jobs_durable = false;
  // The number of sandboxes' events that are kept for each key.
  std::uint32_t sandbox_events_kept = 10'000;
  std::chrono::milliseconds drain{20'000};

  bool lessons = true;
  // nullopt: beside the file of jobs.
  std::optional<std::string> lessons_path;
  std::uint32_t lessons_kept = 2000;
  // Empty: lessons are kept in SQLite.
  Secret qdrant_url;
  Secret qdrant_api_key;
  // Empty: the provider's default.
  std::string embedding_model;
  Secret redis_url;

  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;

  // Where the default limits of a program come from, such as "SANDBOX_TIMEOUT_SECONDS in .env";
  // empty: they are ours.
  std::string sandbox_timeout_place;
  std::string sandbox_memory_place;
};

// A value from the command line: the name of the variable that it overrides, and the flag for
// errors.
struct FlagSetting {
  std::string name;   // "API_PORT"
  std::string value;  // "9000"
  std::string flag;   // "--port"
};

struct ConfigSources {
  std::optional<std::string> file_path;    // read if set, and must then be readable
  std::optional<std::string> dotenv_path;  // the same
  bool file_was_found = false;             // by find_default_files(); nobody named it
  bool dotenv_was_found = false;
  // Only variables with this prefix are taken from the .env, of which the rest may be another
  // program's; empty: all are, and there is nothing else in it.
  std::string dotenv_prefix;
  Environment environment;
  std::vector<FlagSetting> flags;
};

// Sets agent-sandbox.json and .env of the working directory in `sources` where they exist and no
// other file was named. Must be called before privileges are dropped: a file that cannot be read
// afterwards is then an error, and is not silently ignored. A file that was found is refused where
// it belongs to neither root nor the user of this process, or anybody may write to it: the working
// directory may be one that others, or programs in jails, put it into.
void find_default_files(ConfigSources& sources);

// Errors: ErrorKind::invalid, one line that names the setting, where its value came from and what
// is allowed. The value of a secret is never in it.
jail::Result<Config> load_config(const ConfigSources& sources);

// Returns a line for each variable that is most likely a mistyped setting: its name has one of our
// prefixes, or differs from a setting in few letters. The environment belongs to other programs
// too, so these lines do not stop a start; in a .env they do. Returns at most 8.
std::vector<std::string> mistyped_variables(const Environment& environment);

// The provider that answers task requests; null where none is configured. A cassette has precedence
// over a key: an operator who plays one does not want to pay for a model.
const ProviderConfig* active_provider(const Config& config);

// Returns whether the configuration is enough to ask this provider.
bool is_usable(const Config& config, const ProviderConfig& provider);

bool is_loopback(std::string_view host);

// The path of the Unix socket that an API_HOST names; std::nullopt for an address.
std::optional<std::string> unix_path(std::string_view host);

// How many connections one peer may have; 0: no bound for each peer. Returns the configured number;
// without one, half of all connections where other machines can reach the server, and 0 on loopback
// and at a Unix socket, where every peer looks the same.
std::uint32_t connections_per_peer(const Config& config);

// Refuses an address that others can reach while no key is configured.
jail::Result<void> check_exposure(const Config& config);

}  // namespace runtime
