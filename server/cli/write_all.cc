#include "server/cli/write_all.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace server {

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&entry, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace server
