// Root is never needed, and no jail may run as host uid 0: whoever starts us as root gets an
// unprivileged process for good.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "jail/result.h"

namespace server {

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Used where /etc/passwd has no user agent-sandbox. In the range that Debian and Fedora keep free
// of packages and people.
inline constexpr Identity fallback_identity = {.uid = 60800, .gid = 60800};

// A user by name or number. Errors: unknown, or root itself.
jail::Result<Identity> find_identity(const std::string& user);

// Whom drop_privileges() would become; nothing where it changes nobody. The same errors.
jail::Result<std::optional<Identity>> next_identity(const std::optional<std::string>& user);

// Whether drop_privileges() has made an unprivileged process of root's.
bool has_root_ended() noexcept;

// The same was done otherwise.
void note_root_has_ended() noexcept;

// An error of a file that may not be read or written says as whom it was tried, where root has
// ended.
jail::Error as_whom(jail::Error error);

// As root: becomes `user`, or agent-sandbox, or the fallback; without supplementary groups and
// capabilities, and without a way back, which is tried. As anybody else: does nothing, but refuses
// a `user` that is not this one. To be called while there is only one thread.
jail::Result<void> drop_privileges(const std::optional<std::string>& user);

}  // namespace server
