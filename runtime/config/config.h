// Everything an operator can set, read once at the start from defaults, a file, the environment and
// flags, each overriding the one before.
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

// What a request may ask for at most.
struct Ceilings {
  std::chrono::milliseconds timeout{60'000};
  std::uint32_t memory_limit_mb = 2048;
};

// Requests in a stretch of time.
struct Rate {
  std::uint32_t requests = 0;  // 0: no bound
  std::chrono::seconds time{1};
};

inline constexpr std::chrono::milliseconds min_timeout{50};
inline constexpr std::uint32_t min_memory_limit_mb = 32;

struct ProviderConfig {
  // "groq"
  std::string name;
  // Empty: not set.
  Secret api_key;
  // Empty, as the two behind it: the provider's default.
  std::string model;
  std::string base_url;
  // Only anthropic and google have one.
  std::string api_version;
};

// Those behind HTTP.
std::vector<ProviderConfig> known_providers();

// The most that an operator may allow a sandbox to live.
inline constexpr std::chrono::seconds longest_lifetime{2'592'000};

// A model's name, and nothing that would lead to another place in a URL or a log.
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

struct Config {
  // Or "unix:" and a path, see unix_path().
  std::string api_host = "127.0.0.1";
  // Where api_host names no path.
  std::uint16_t api_port = 8000;
  std::uint32_t api_socket_mode = 0600;
  std::vector<Secret> api_keys;
  // What each of these keys is for; none: each is for everything.
  std::vector<Scopes> api_key_scopes;
  // The names of their tenants: keys of one share what they own. None: each key is a tenant.
  std::vector<std::string> api_key_tenants;
  // Beside the loopback names.
  std::vector<std::string> api_allowed_hosts;
  std::uint32_t api_max_connections = 512;
  // Nothing: see connections_per_peer().
  std::optional<std::uint32_t> api_max_connections_per_peer;
  // How long a connection is kept that waits for its next request.
  std::chrono::milliseconds api_idle{60'000};
  // Programs of one key, running and waiting; 0: no bound.
  std::uint32_t api_key_concurrency = 0;
  Rate api_key_rate;
  // 0: as many as the rate has requests.
  std::uint32_t api_key_burst = 0;

  std::chrono::milliseconds sandbox_timeout{5000};
  std::uint32_t sandbox_memory_limit_mb = 256;
  double sandbox_cpu_limit = 1.0;
  // Jails that wait for Python; 0: none for any language.
  std::uint32_t sandbox_pool_size = 8;
  // An absolute path; empty: the shipped templates alone.
  std::string sandbox_templates_dir;
  std::uint32_t sandbox_max_running = 16;
  std::uint32_t sandbox_max_queued = 256;
  // Sandboxes that live at a time; 0: none are made.
  std::uint32_t sandbox_max_living = 100;
  // What their requests may ask for.
  std::chrono::milliseconds sandbox_max_lifetime{std::chrono::hours(24)};
  // Where sandboxes' ports have host names, as in 8000-ID.DOMAIN; empty: nowhere.
  std::string sandbox_ports_domain;
  // How long a server in a sandbox may say nothing before its answer.
  std::chrono::milliseconds sandbox_ports_timeout{60'000};
  // How long one is kept that is paused.
  std::chrono::milliseconds sandbox_max_paused{std::chrono::hours(24)};
  Ceilings ceilings;
  // Whether requests may ask for egress, and the rules (jail/egress.h) that they must stay in.
  bool network_enabled = false;
  std::vector<std::string> network_allow;
  // Where webhooks may lead (runtime/service/webhook_destinations.h); none: there are no webhooks.
  std::vector<std::string> webhooks_allow;
  // How long a webhook may fail before it is disabled.
  std::chrono::milliseconds webhooks_retry{std::chrono::hours(24)};
  // Or "own", "none", or a directory of cgroup v2.
  std::string cgroup = "auto";
  bool require_cgroup = false;
  JailUsers jail_users;
  // "host", an absolute path, or empty: a built root where there is one.
  std::string rootfs;

  // As configured; active_provider() says which is used.
  std::optional<std::string> llm_provider;
  // Every known one; of those whose key is set the first is preferred.
  std::vector<ProviderConfig> providers = known_providers();
  // Plays replay_cassette, and takes no key.
  ProviderConfig replay{"replay", {}, {}, {}, {}};
  // A file; empty: none.
  std::string replay_cassette;
  std::uint32_t max_reflexion_attempts = 3;

  // Nothing: the usual place.
  std::optional<std::string> jobs_path;
  std::uint32_t jobs_kept = 1000;
  std::uint32_t jobs_max_mb = 256;
  // Answers wait until the disk has their results.
  bool jobs_durable = false;
  // What happened in sandboxes, of each key.
  std::uint32_t sandbox_events_kept = 10'000;
  std::chrono::milliseconds drain{20'000};

  bool lessons = true;
  // Nothing: beside the file of jobs.
  std::optional<std::string> lessons_path;
  std::uint32_t lessons_kept = 2000;
  // Empty: lessons are in SQLite.
  Secret qdrant_url;
  Secret qdrant_api_key;
  // Empty: the provider's default.
  std::string embedding_model;
  Secret redis_url;

  LogLevel log_level = LogLevel::info;
  LogFormat log_format = LogFormat::text;
};

// A value from the command line: the environment name that it overrides, and the flag for errors.
struct FlagSetting {
  std::string name;   // "API_PORT"
  std::string value;  // "9000"
  std::string flag;   // "--port"
};

struct ConfigSources {
  std::optional<std::string> file_path;    // read, and must be readable, where set
  std::optional<std::string> dotenv_path;  // the same
  bool file_was_found = false;             // by find_default_files() and not named by anybody
  bool dotenv_was_found = false;
  Environment environment;
  std::vector<FlagSetting> flags;
};

// Names agent-sandbox.json and .env of the working directory in `sources` where they are there and
// no other file was named. Called before privileges are dropped: a file that is there but cannot be
// read afterwards is then an error, not a configuration that silently does not count. A file that
// was found is refused where it belongs to neither root nor the user of this process, or anybody
// may write to it: the working directory may be one that others, or programs in jails, put it into.
void find_default_files(ConfigSources& sources);

// Errors: ErrorKind::invalid, one line that names the setting, where its value came from and what
// is allowed. The value of a secret is never in it.
jail::Result<Config> load_config(const ConfigSources& sources);

// A line about each variable that is most likely a mistyped setting: it begins as ours alone do, or
// differs from one in few letters. The environment belongs to other programs too, so these stop no
// start; in a .env they do. At most 8.
std::vector<std::string> mistyped_variables(const Environment& environment);

// The provider that answers task requests; null where none is configured. A cassette that is named
// goes before a key: who plays one does not mean to pay for a model.
const ProviderConfig* active_provider(const Config& config);

// Whether it can be asked with what is configured.
bool is_usable(const Config& config, const ProviderConfig& provider);

bool is_loopback(std::string_view host);

// Of the Unix socket that an API_HOST names; nothing where it is an address.
std::optional<std::string> unix_path(std::string_view host);

// How many connections one peer may have; 0: no bound of its own. As configured, else half of all
// where others can reach the server: on loopback and at a Unix socket every peer looks the same.
std::uint32_t connections_per_peer(const Config& config);

// Refuses an address that others can reach while no key is configured.
jail::Result<void> check_exposure(const Config& config);

}  // namespace runtime
