// agent-sandbox exec: one program, its streams passed through, its exit status ours.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status. To be called while there is only one thread.
int exec(ExecOptions options, runtime::Environment environment);

}  // namespace server
