#include "jail/fd.h"

#include <unistd.h>

namespace jail {

void Fd::reset(int fd) noexcept {
  // On Linux the descriptor is gone after close(), whatever it returned: no retry on EINTR.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace jail
