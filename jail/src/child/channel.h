// Messages with descriptors over a SOCK_SEQPACKET socket, by raw system calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "child/wire.h"

namespace jail::child {

// Sends `fd` along when it is not negative, and waits up to half a second for room for a
// descriptor.
long send_with_room(int socket, const void* bytes, std::size_t size, int fd);

// Sends to the parent, which reads what it asked for, so that this never blocks for long. An error
// (the parent is gone) is not reported further, since nobody here can act on it.
long send_message(int socket, const wire::Message& message, int fd = -1);

// Tells the parent that the call `index` of the list of `phase` failed with `error`; index -1
// stands for a call outside of the plan.
void send_failure(int socket, std::uint32_t phase, std::int32_t index, std::int32_t error);

// Tells the parent how the order `serial` has ended: with `error`, or 0.
void send_answer(int socket, wire::MessageType type, std::int32_t serial, std::int32_t error);

// Closes those that are not negative.
void close_all(const int* fds, std::size_t count);

// Messages with any number of descriptors, at most max_fds.
inline constexpr std::size_t max_fds = wire::max_guest_fds;
static_assert(max_fds >= wire::launch_fd_kinds);
// `flags` are those of sendmsg(2); MSG_NOSIGNAL is added.
long send_bytes(int socket, const void* bytes, std::size_t size, const int* fds, std::size_t count,
                int flags = 0);

// Returns the number of bytes, 0 at the end of the conversation, or a negative errno. Received
// descriptors are close-on-exec; `fd_count` is how many came, at most `fd_capacity`.
long receive(int socket, void* buffer, std::size_t size, int* fds, std::size_t fd_capacity,
             std::size_t* fd_count, int flags);

}  // namespace jail::child
