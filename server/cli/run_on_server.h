// agent-sandbox run --server: the same task on a server that runs.
#pragma once

#include <string>

#include "runtime/agent/task.h"
#include "runtime/config/environment.h"
#include "server/cli/arguments.h"
#include "server/cli/exec_files.h"

namespace server {

// `brief`: the task, its tests and its files. `trace_fd`: where the page of --trace goes, or -1.
// Returns the exit status. To be called while there is only one thread.
int run_on_server(const RunTaskOptions& options, const runtime::agent::TaskRequest& brief,
                  const ArtifactDirectories& directories, int trace_fd,
                  const runtime::Environment& environment);

}  // namespace server
