// What the commands have in common that serve requests until they are ended: serve and mcp.
#pragma once

#include <chrono>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/observe/logger.h"
#include "runtime/sandbox/runner.h"
#include "runtime/sandbox/template.h"
#include "runtime/service/sandboxes.h"
#include "server/cli/start.h"

namespace server {

// For all sandboxes to end: they are asked to at once, and one takes milliseconds.
inline constexpr std::chrono::milliseconds patience_for_sandboxes{5'000};

// The limits of jails as configured, with warm ones of `templates`. The logger outlives the runner.
runtime::RunnerOptions service_runner_options(const Start& start,
                                              std::vector<runtime::Template> templates,
                                              runtime::Logger& logger);

// How many sandboxes there may be. Where there are several keys none can take all places.
runtime::Sandboxes::Options sandbox_options(const runtime::Config& config);

// What holds the limits of jails.
void log_limits(runtime::Logger& logger, const runtime::CgroupChoice& cgroup);

}  // namespace server
