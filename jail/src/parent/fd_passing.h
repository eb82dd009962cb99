// Messages with descriptors over a Unix socket (SCM_RIGHTS, unix(7)). No call waits.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "jail/fd.h"

namespace jail {

// All of `bytes` in one message, or false and errno; EINVAL beyond the 253 descriptors that the
// kernel takes at once.
bool send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) noexcept;

// As recv(2) returns: 0 where the other end was closed and every message that it sent was received.
ssize_t receive_message(int socket, std::span<char> room) noexcept;

// The same with a descriptor. At most one descriptor is opened, and taken whatever it came with;
// `flags` are those of the message (MSG_TRUNC, MSG_CTRUNC).
ssize_t receive_with_fd(int socket, std::span<char> room, Fd& fd, int& flags) noexcept;

}  // namespace jail
