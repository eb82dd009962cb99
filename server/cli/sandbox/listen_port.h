// agent-sandbox sandbox port --listen: a port of this host that leads to one of a sandbox.
#pragma once

#include "server/cli/sandbox/sandbox_options.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Serves programs of this host until a signal comes or the sandbox ends; options.listen is set.
// Returns the exit status.
int listen_for_port(ServerClient& client, const PortOptions& options);

}  // namespace server::client
