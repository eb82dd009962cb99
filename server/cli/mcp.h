// agent-sandbox mcp: the Model Context Protocol on standard input and output, for a client that
// starts this program.
#pragma once

#include <string>

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status when the input has ended or a signal came, and no sandbox is left. To be
// called while there is only one thread.
int mcp(const McpOptions& options, runtime::Environment environment, const std::string& version);

}  // namespace server
