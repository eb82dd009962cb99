// agent-sandbox webhook: where a running server sends what happens in sandboxes, over its HTTP
// interface.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/webhooks/webhooks_options.h"

namespace server::client {

// Returns the exit status. To be called while there is only one thread.
int webhooks(const WebhooksOptions& options, const runtime::Environment& environment);

}  // namespace server::client
