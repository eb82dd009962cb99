// What POST /v1/sandboxes gets, and PATCH /v1/sandboxes/{id}.
#pragma once

#include <string>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

std::string request_of(const CreateOptions& options);
std::string request_of(const ChangeOptions& options);

}  // namespace server::client
