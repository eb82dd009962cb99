#include "server/cli/start.h"

#include <unistd.h>

#include <cmath>
#include <memory>
#include <utility>

#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"

namespace server {

std::string how_to_delegate() {
  const bool was_root = has_root_ended() || ::getuid() == 0;
  return "start it as a systemd service with Delegate=yes, " +
         std::string(was_root ? "" : "as root, ") +
         "or in a login session of a user with a systemd of his own; in a container give it a "
         "writable cgroup namespace; or name a directory by SANDBOX_CGROUP";
}

namespace {

// An error of what an option of the command line says or names begins with that option.
jail::Error in_option(const HostOptions& host, std::string_view setting, jail::Error error) {
  for (const runtime::FlagSetting& flag : host.flags) {
    if (flag.name == setting) error.doing = flag.flag + ": " + error.doing;
  }
  return error;
}

// Finds the cgroup as configured and gives it to whoever drop_privileges(host.user) will become.
// Errors: a configured one cannot be used, or there is none and require_cgroup asks for one.
jail::Result<runtime::CgroupChoice> take_cgroup(const runtime::Config& config,
                                                const HostOptions& host,
                                                const runtime::Environment& environment) {
  const auto identity = next_identity(host.user);
  if (!identity) return identity.error();
  runtime::CgroupRequest request;
  request.configured = config.cgroup;
  const auto entry = environment.find("XDG_RUNTIME_DIR");
  if (entry != environment.end()) request.runtime_directory = entry->second;
  auto choice = runtime::find_cgroup(request);
  if (!choice) return in_option(host, "SANDBOX_CGROUP", choice.error());
  if (!choice->tree) {
    if (!config.require_cgroup) return choice;
    return jail::Error{jail::ErrorKind::unsupported,
                       "SANDBOX_REQUIRE_CGROUP or --require-cgroup is set: " + choice->why_none, 0,
                       how_to_delegate()};
  }
  if (*identity) {
    const auto given = choice->tree->give_to((*identity)->uid, (*identity)->gid);
    if (!given) return given.error();
  }
  return choice;
}

// Opens the root that programs see, and enters a range of users for jails. Does nothing, or only
// ends root, where there is none; the errors are those of enter_own_users().
jail::Result<OwnUsers> take_own_users(Start& start, const std::optional<std::string>& user,
                                      runtime::Versions versions) {
  const auto without = [&](std::string why) -> jail::Result<OwnUsers> {
    if (start.config.jail_users.mode == runtime::JailUsers::Mode::range) {
      return jail::Error{jail::ErrorKind::refused, "SANDBOX_USERS: " + why, 0, {}};
    }
    return OwnUsers{.range = nullptr, .why_none = std::move(why)};
  };
  if (auto why = why_no_own_users(start.config, start.cgroup.tree.has_value())) {
    return without(std::move(*why));
  }
  // Inside of the range the files of root seem to be nobody's.
  auto root = runtime::find_program_root(start.config.rootfs,
                                         runtime::default_root_places(start.environment), versions);
  if (!root) return OwnUsers{.range = nullptr, .why_none = root.error().message()};
  if (auto why = why_own_users_see_no_root(start.config, *root)) return without(std::move(*why));
  start.root = std::move(*root);
  return enter_own_users(start.config, user);
}

// An error of the file that --config names begins with that option: nothing but that file is needed
// to meet the error.
jail::Error in_named_file(const StartRequest& request, jail::Error error) {
  if (!request.config_path) return error;
  runtime::ConfigSources alone;
  alone.file_path = request.config_path;
  const auto loaded = runtime::load_config(alone);
  if (!loaded && loaded.error().message() == error.message()) {
    error.doing = "--config: " + error.doing;
  }
  return error;
}

// Takes what `found` has, or notes why it has nothing. False where the start ends with that.
template <class Value>
bool settle(jail::Result<Value> found, Value& into, std::optional<jail::Error>* tolerated,
            std::optional<jail::Error>& end) {
  if (found) {
    into = std::move(*found);
    return true;
  }
  (tolerated == nullptr ? end : *tolerated) = found.error();
  return tolerated != nullptr;
}

}  // namespace

jail::Result<Start> start(StartRequest request, StartFailures* tolerated) {
  std::optional<jail::Error> end;
  const auto slot = [&](std::optional<jail::Error> StartFailures::*which) {
    return tolerated == nullptr ? nullptr : &(tolerated->*which);
  };
  Start result;
  runtime::ConfigSources sources;
  sources.file_path = request.config_path;
  sources.environment = std::move(request.environment);
  sources.flags = request.host.flags;
  if (!request.reads_all_of_dotenv) sources.dotenv_prefix = "SANDBOX_";
  runtime::find_default_files(sources);
  if (!settle(runtime::load_config(sources), result.config, slot(&StartFailures::config), end)) {
    return in_named_file(request, *end);
  }
  result.environment = std::move(sources.environment);
  for (const std::string& told : runtime::mistyped_variables(result.environment)) fail(0, told);
  if (request.check) {
    if (const auto checked = request.check(result.config); !checked) return checked.error();
  }
  const std::optional<std::string>& user = request.host.user;
  if (!settle(take_cgroup(result.config, request.host, result.environment), result.cgroup,
              slot(&StartFailures::cgroup), end)) {
    return *end;
  }
  if (request.before_root_ends) {
    if (const auto done = request.before_root_ends(); !done) return done.error();
  }
  if (request.may_have_own_users) {
    auto users = take_own_users(result, user, request.versions);
    if (!users) return users.error();
    if (users->range != nullptr) {
      result.users = std::move(*users);
      return result;
    }
    result.users.why_none = std::move(users->why_none);
  } else {
    result.users.why_none = "programs share files with the user of this process";
  }
  if (const auto dropped = drop_privileges(user); !dropped) return dropped.error();
  if (!settle(runtime::find_program_root(result.config.rootfs,
                                         runtime::default_root_places(result.environment),
                                         request.versions),
              result.root, slot(&StartFailures::root), end)) {
    return in_option(request.host, "SANDBOX_ROOTFS", *end);
  }
  return result;
}

runtime::RunnerOptions runner_options(const Start& start) {
  const runtime::Config& config = start.config;
  runtime::RunnerOptions options;
  options.max_running = config.sandbox_max_running;
  options.max_queued = config.sandbox_max_queued;
  options.max_of_a_caller = config.api_key_concurrency;
  options.cpu_percent = static_cast<std::uint32_t>(std::lround(config.sandbox_cpu_limit * 100));
  options.usual_memory_mb = config.sandbox_memory_limit_mb;
  options.max_memory_mb = config.ceilings.memory_limit_mb;
  options.max_timeout = config.ceilings.timeout;
  options.cgroups = start.cgroup.tree;
  options.ids = start.users.range;
  options.root = start.root.view;
  return options;
}

}  // namespace server
