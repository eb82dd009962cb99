// agent-sandbox jobs and agent-sandbox logs: what a running server has run, over its HTTP
// interface.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/jobs/jobs_options.h"

namespace server::client {

// Returns the exit status. To be called while there is only one thread.
int jobs(const JobsOptions& options, const runtime::Environment& environment);

}  // namespace server::client
