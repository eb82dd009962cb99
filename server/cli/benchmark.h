// agent-sandbox benchmark: a suite of tasks, solved and counted.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status. To be called while there is only one thread.
int benchmark(const BenchmarkOptions& options, runtime::Environment environment);

}  // namespace server
