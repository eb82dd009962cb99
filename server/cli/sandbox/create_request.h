// What POST /v1/sandboxes gets, and PATCH /v1/sandboxes/{id}.
#pragma once

#include <string>
#include <vector>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

// `secrets` are those of the options, with their values.
std::string request_of(const CreateOptions& options,
                       const std::vector<runtime::NetworkSecret>& secrets = {});
std::string request_of(const ChangeOptions& options,
                       const std::vector<runtime::NetworkSecret>& secrets = {});

}  // namespace server::client
