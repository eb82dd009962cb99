// agent-sandbox sandbox logs.
#pragma once

#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// What processes wrote goes where they wrote it, as it is. Returns the exit status.
int show_logs(ServerClient& client, const LogsOptions& options);

}  // namespace server::client
