// Messages with descriptors over a Unix socket (SCM_RIGHTS, unix(7)). Neither call waits.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "jail/fd.h"

namespace jail {

// All of `bytes` in one message, or false and errno; EINVAL beyond the 253 descriptors that the
// kernel takes at once.
bool send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) noexcept;

// As recvmsg(2) returns. At most one descriptor is opened, and taken whatever it came with; `flags`
// are those of the message (MSG_TRUNC, MSG_CTRUNC).
ssize_t receive_with_fd(int socket, std::span<char> room, Fd& fd, int& flags) noexcept;

}  // namespace jail
