#include "server/cli/write_all.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include "jail/result.h"
#include "server/cli/exit_codes.h"

namespace server {
namespace {

// How many bytes may be written to `fd` when poll(2) says that it takes some, without waiting as a
// rule: a pipe takes as many at once, a terminal may not.
std::size_t bytes_that_fit(int fd) {
  constexpr std::size_t of_a_terminal = 64;
  const bool may_wait = ::isatty(fd) == 1 && (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  return may_wait ? of_a_terminal : PIPE_BUF;
}

}  // namespace

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

int print(std::string_view bytes) {
  if (write_all(STDOUT_FILENO, bytes)) return 0;
  if (errno == EPIPE) return exit_signal_base + SIGPIPE;
  const jail::Error error{jail::ErrorKind::kernel, "write output", errno, {}};
  return fail(exit_own_failure, error.message());
}

bool takes_bytes(int fd) {
  pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
  return ::poll(&entry, 1, 0) != 0;
}

bool write_all_while(int fd, std::string_view bytes, const std::function<bool()>& goes_on) {
  return write_when(fd, bytes, [&] {
    constexpr int pause_ms = 100;
    pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
    while (goes_on()) {
      const int found = ::poll(&entry, 1, pause_ms);
      // A signal that this thread takes says nothing of `fd`.
      if (found > 0 || (found < 0 && errno != EINTR)) return true;
    }
    return false;
  });
}

bool write_when(int fd, std::string_view bytes, const std::function<bool()>& can_write) {
  const std::size_t most = bytes_that_fit(fd);
  while (!bytes.empty()) {
    if (!can_write()) {
      errno = EINTR;
      return false;
    }
    const ssize_t count = ::write(fd, bytes.data(), std::min(bytes.size(), most));
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EAGAIN && errno != EINTR) {
      return false;
    }
  }
  return true;
}

jail::Fd reopened_terminal(int fd) {
  if (::isatty(fd) != 1) return {};
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return jail::Fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace server
