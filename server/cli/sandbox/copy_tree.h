// A directory into a sandbox or out of it, with all that is in it.
#pragma once

#include <cstddef>
#include <string>

#include "server/cli/sandbox/server_client.h"

namespace server::client {

// The directory `outside` becomes, or is filled up to, what is in `inside`, or the other way round.
// Returns how much was left out, of which is told on standard error: what is neither a file nor a
// directory, links among them. Errors as those of copy_file_out(); what was copied before stays.
jail::Result<std::size_t> copy_tree_out(ServerClient& client, const std::string& id,
                                        const std::string& inside, const std::string& outside);
jail::Result<std::size_t> copy_tree_in(ServerClient& client, const std::string& id,
                                       const std::string& outside, const std::string& inside);

}  // namespace server::client
