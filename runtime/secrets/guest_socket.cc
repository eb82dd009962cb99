#include "runtime/secrets/guest_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::seconds patience_for_a_reader{60};
constexpr std::chrono::seconds patience_for_an_end{2};
constexpr std::size_t piece_bytes = 16u << 10;

bool is_transient(int error) { return error == EAGAIN || error == EINTR; }

// Returns false where the time is over.
bool wait_for(int fd, short events, GuestSocket::Time deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  if (left <= milliseconds(0)) return false;
  pollfd watched{.fd = fd, .events = events, .revents = 0};
  ::poll(&watched, 1, static_cast<int>(left.count()));
  return true;
}

}  // namespace

GuestSocket::Read GuestSocket::read_some(std::string& into, std::size_t most, Time deadline) const {
  std::array<char, piece_bytes> piece;
  for (;;) {
    const ssize_t got = ::recv(fd_, piece.data(), std::min(most, piece.size()), 0);
    if (got > 0) {
      into.append(piece.data(), static_cast<std::size_t>(got));
      return Read::some;
    }
    if (got == 0 || !is_transient(errno)) return Read::ended;
    if (!wait_for(fd_, POLLIN, deadline)) return Read::timed_out;
  }
}

bool GuestSocket::write(std::string_view bytes) const {
  Time deadline = steady_clock::now() + patience_for_a_reader;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      deadline = steady_clock::now() + patience_for_a_reader;
    } else if (!is_transient(errno) || !wait_for(fd_, POLLOUT, deadline)) {
      return false;
    }
  }
  return true;
}

bool GuestSocket::is_waiting() const {
  char next = 0;
  return ::recv(fd_, &next, 1, MSG_PEEK) < 0 && is_transient(errno);
}

void GuestSocket::finish() const {
  ::shutdown(fd_, SHUT_WR);
  const Time deadline = steady_clock::now() + patience_for_an_end;
  std::string unread;
  while (read_some(unread, piece_bytes, deadline) == Read::some && steady_clock::now() < deadline) {
    unread.clear();
  }
}

// The kernel resets a connection that is told to forget its other side.
void GuestSocket::reset(int fd) noexcept {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  if (::connect(fd, &nobody, sizeof nobody) != 0) ::shutdown(fd, SHUT_RDWR);
}

}  // namespace runtime
