// What POST /v1/sandboxes gets.
#pragma once

#include <string>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

std::string request_of(const CreateOptions& options);

}  // namespace server::client
