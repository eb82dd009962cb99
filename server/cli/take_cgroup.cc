#include "server/cli/take_cgroup.h"

#include <cmath>

#include "server/cli/drop_privileges.h"

namespace server {

const char* const how_to_delegate =
    "start it as a systemd service with Delegate=yes, in a login session of a user with a systemd "
    "of his own, or as root; in a container give it a writable cgroup namespace; or name a "
    "directory by SANDBOX_CGROUP";

jail::Result<runtime::CgroupChoice> take_cgroup(const runtime::Config& config,
                                                const std::optional<std::string>& user,
                                                const runtime::Environment& environment) {
  const auto identity = next_identity(user);
  if (!identity) return identity.error();
  runtime::CgroupRequest request;
  request.configured = config.cgroup;
  const auto entry = environment.find("XDG_RUNTIME_DIR");
  if (entry != environment.end()) request.runtime_directory = entry->second;
  auto choice = runtime::find_cgroup(request);
  if (!choice) return choice.error();
  if (!choice->tree) {
    if (!config.require_cgroup) return choice;
    return jail::Error{jail::ErrorKind::unsupported, "require_cgroup: " + choice->why_none, 0,
                       how_to_delegate};
  }
  if (*identity) {
    const auto given = choice->tree->give_to((*identity)->uid, (*identity)->gid);
    if (!given) return given.error();
  }
  return choice;
}

runtime::RunnerOptions runner_options(const runtime::Config& config,
                                      const runtime::CgroupChoice& cgroup) {
  runtime::RunnerOptions options;
  options.max_running = config.sandbox_max_running;
  options.max_queued = config.sandbox_max_queued;
  options.max_of_a_caller = config.api_key_concurrency;
  options.cpu_percent = static_cast<std::uint32_t>(std::lround(config.sandbox_cpu_limit * 100));
  options.usual_memory_mb = config.sandbox_memory_limit_mb;
  options.most_memory_mb = config.ceilings.memory_limit_mb;
  options.most_timeout = config.ceilings.timeout;
  options.cgroups = cgroup.tree;
  return options;
}

}  // namespace server
