// agent-sandbox sandbox exec and shell.
#pragma once

#include <string>

#include "server/cli/sandbox/process_events.h"
#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Each returns the exit status.
int exec(ServerClient& client, ExecOptions options);
// `terminal_name`: what TERM is here; empty: nothing.
int shell(ServerClient& client, const ShellOptions& options, const std::string& terminal_name);

// What POST .../processes gets for exec.
enum class Input : unsigned char { none, stays_open };
std::string request_of(const ExecOptions& options, Input input, Encoding encoding);

}  // namespace server::client
