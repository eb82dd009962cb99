// agent-sandbox logs: what a job wrote, or a sandbox.
#pragma once

#include <string>
#include <string_view>

#include "server/cli/jobs/jobs_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// "/jobs/ID".
std::string job_path(std::string_view id);

// What programs wrote goes where they wrote it, as it is; what happens in a task is told in words,
// on standard error. Returns the exit status.
int show_output(ServerClient& client, const OutputOptions& options);

// The end of `text`, with so many lines; a last one without a line feed counts.
std::string_view last_lines(std::string_view text, std::size_t lines);

}  // namespace server::client
