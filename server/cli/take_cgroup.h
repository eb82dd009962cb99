// The cgroup that holds the limits, before root ends: afterwards it could not be given away.
#pragma once

#include <optional>
#include <string>

#include "runtime/config/config.h"
#include "runtime/sandbox/cgroup_source.h"
#include "runtime/sandbox/runner.h"

namespace server {

// What agent-sandbox doctor advises where there is none.
extern const char* const how_to_delegate;

// Finds the cgroup as configured and gives it to whoever drop_privileges(user) will become.
// Errors: a configured one cannot be used, or there is none and require_cgroup asks for one. To be
// called while there is only one thread.
jail::Result<runtime::CgroupChoice> take_cgroup(const runtime::Config& config,
                                                const std::optional<std::string>& user,
                                                const runtime::Environment& environment);

runtime::RunnerOptions runner_options(const runtime::Config& config,
                                      const runtime::CgroupChoice& cgroup);

}  // namespace server
