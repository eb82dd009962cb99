// The options that say what a sandbox may use.
#pragma once

#include <CLI/CLI.hpp>

#include "server/cli/sandbox/raw_arguments.h"

namespace server::client {

void add_limits(CLI::App& command, RawSandboxArguments& raw);
// Returns the limits that the command line names; those that it does not name are left out.
LimitOptions limits_of(const CLI::App& command, const RawSandboxArguments& raw);

}  // namespace server::client
