// agent-sandbox sandbox watch.
#pragma once

#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Returns the exit status.
int watch_files(ServerClient& client, const WatchOptions& options);

}  // namespace server::client
