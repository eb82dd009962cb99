// agent-sandbox sandbox: sandboxes that live on a server, over its HTTP interface.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

// Returns the exit status. To be called while there is only one thread.
int sandbox(const Options& options, const runtime::Environment& environment);

}  // namespace server::client
