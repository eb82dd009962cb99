// The descriptors that come with a request for a jail.
#pragma once

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

#include "child/raw_syscall.h"
#include "child/wire.h"

namespace jail::child {

// Indexed by the bit in wire::LaunchFd.
struct LaunchFds {
  int fd[wire::launch_fd_kinds];

  int of(wire::LaunchFd kind) const { return fd[__builtin_ctz(kind)]; }
  void close(std::uint32_t kinds = ~0u) {
    for (std::size_t i = 0; i < wire::launch_fd_kinds; ++i) {
      if (fd[i] < 0 || (kinds & (1u << i)) == 0) continue;
      raw::call(SYS_close, fd[i]);
      fd[i] = -1;
    }
  }
};

// Sorts the received descriptors by their purpose; returns false where they are not what the
// request says.
inline bool sort_fds(const wire::LaunchRequest& request, const int* received, std::size_t count,
                     LaunchFds& fds) {
  std::size_t next = 0;
  std::size_t named = 0;
  for (std::size_t i = 0; i < wire::launch_fd_kinds; ++i) {
    fds.fd[i] = -1;
    if ((request.fds & (1u << i)) == 0) continue;
    ++named;
    if (next < count) fds.fd[i] = received[next++];
  }
  return named == count && (request.fds & wire::launch_always) == wire::launch_always;
}

}  // namespace jail::child
