// Paths in a sandbox that depend on where its processes start.
#pragma once

#include <string>

#include "jail/result.h"
#include "server/cli/sandbox/server_client.h"

namespace server::client {

// Asks the server where processes of the sandbox start. Errors: as those of a ServerClient.
jail::Result<std::string> working_directory_of(ServerClient& client, const std::string& id);

// Returns an absolute path as it is, and any other below working_directory_of(), which an empty one
// is itself.
jail::Result<std::string> path_inside(ServerClient& client, const std::string& id,
                                      const std::string& path);

// The same, but an empty path stays empty, which to the server means that directory.
jail::Result<std::string> directory_inside(ServerClient& client, const std::string& id,
                                           const std::string& path);

}  // namespace server::client
