// agent-sandbox volume: directories that outlive the sandboxes of a running server, over its HTTP
// interface.
#pragma once

#include "runtime/config/environment.h"
#include "server/cli/volumes/volumes_options.h"

namespace server::client {

// Returns the exit status. To be called while there is only one thread.
int volumes(const VolumesOptions& options, const runtime::Environment& environment);

}  // namespace server::client
