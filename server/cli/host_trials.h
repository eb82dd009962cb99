// What can only be found out by trying, each in a child process of its own.
#pragma once

#include <string>

namespace server {

struct Trial {
  int error = 0;      // errno of what failed; 0: everything went well
  std::string doing;  // what failed
};

// "mount an overlay of /usr: Operation not permitted"
std::string describe(const Trial& trial);

// Makes a user and a mount namespace and uses the power that comes with them: a security module may
// grant the first and take away the second. To be called while there is only one thread, and so is
// the one below.
Trial try_user_namespace();

// Mounts a read-only overlay of /usr in such namespaces.
Trial try_overlay();

// Opens a socket to the machine's own host, or to its guests, and closes it again.
Trial try_vsock();

}  // namespace server
