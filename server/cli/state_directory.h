// Where what outlives a command is kept when root starts it.
#pragma once

#include <optional>
#include <string>

#include "runtime/config/environment.h"

namespace server {

// Root's own home is closed to the user whom root becomes (drop_privileges.h). Where nothing but
// that home says where state is kept, it is kept in /var/lib/agent-sandbox/server, which the system
// service uses too: makes the directory, for that user alone, and names it by STATE_DIRECTORY. One
// that is there already stays as it is; where it is another user's, HOME becomes the home of the
// `user` that was named, if they have one. Does nothing for others than root, and where the
// directory cannot be made safely: opening a file says why later. To be called while root has not
// ended.
void take_state_directory(runtime::Environment& environment,
                          const std::optional<std::string>& user);

}  // namespace server
