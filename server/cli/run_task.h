// agent-sandbox run: one task, solved by a model and jails.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status. To be called while there is only one thread.
int run_task(RunTaskOptions options, runtime::Environment environment);

}  // namespace server
