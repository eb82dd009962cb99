// agent-sandbox serve: the HTTP server, until a signal ends it.
#pragma once

#include <string>

#include "runtime/config/environment.h"
#include "server/cli/arguments.h"

namespace server {

// Returns the exit status. To be called while there is only one thread.
int serve(const ServeOptions& options, runtime::Environment environment,
          const std::string& version);

}  // namespace server
