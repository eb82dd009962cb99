// Sandboxes by name, where the server names one by its id.
#pragma once

#include <map>
#include <string>

#include "server/cli/sandbox/server_client.h"

namespace server::client {

// The names of the sandboxes that live, by id; those without a name are left out. Empty where the
// server does not tell them.
std::map<std::string, std::string> sandbox_names(ServerClient& client);

// The text with the name of a sandbox in place of "sandbox ID".
std::string with_sandbox_name(ServerClient& client, std::string text);

}  // namespace server::client
