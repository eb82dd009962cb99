// What `exec` says when its program has ended.
#pragma once

#include <string>
#include <string_view>

#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"
#include "server/cli/exec_files.h"

namespace server {

// Prints `json` on standard output; where it is empty, one line on standard error says why a
// program did not end by itself. Says what became of its connections, and keeps its artifacts.
// Returns the exit status of `exec`.
int report_run(const runtime::RunResult& result, const std::string& json,
               const ArtifactDirectories& directories);

// Says on standard error how long a program ran and what it used: 'ran 0.031 s, processor time
// 0.025 s, memory 9.6 MB at most, warm'.
void tell_usage(const runtime::RunResult& result);

// Says which limit a program has met that went on without what it was refused, where the end of its
// standard error says that it was refused something. Nothing else tells it.
void tell_refused(std::string_view error_tail, const runtime::RunRequest& request);

// The same as report_run() after a signal of ours that the program was sent: nothing is said of how
// it ended.
void keep_results(const runtime::RunResult& result, const std::string& json,
                  const ArtifactDirectories& directories);

}  // namespace server
