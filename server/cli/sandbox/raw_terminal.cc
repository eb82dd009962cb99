#include "server/cli/sandbox/raw_terminal.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace server::client {

jail::Result<RawTerminal> RawTerminal::enter(int fd) {
  termios before{};
  if (::tcgetattr(fd, &before) != 0) {
    return jail::Error{jail::ErrorKind::kernel, "standard input", errno, {}};
  }
  termios raw = before;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSADRAIN, &raw) != 0) {
    return jail::Error{jail::ErrorKind::kernel, "set up the terminal", errno, {}};
  }
  return RawTerminal(fd, before);
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), before_(other.before_) {}

void RawTerminal::leave() noexcept {
  if (fd_ < 0) return;
  // What was typed ahead was meant for the sandbox, not for the shell that comes back. TCSAFLUSH
  // would drop it as well, but wait for output that nobody may ever read.
  const int fd = std::exchange(fd_, -1);
  ::tcsetattr(fd, TCSANOW, &before_);
  ::tcflush(fd, TCIFLUSH);
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {.columns = std::min<int>(size.ws_col, 1000), .rows = std::min<int>(size.ws_row, 1000)};
}

}  // namespace server::client
