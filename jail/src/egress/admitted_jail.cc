#include "egress/admitted_jail.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "parent/fd_passing.h"

namespace jail::egress {
namespace {

int option(const Fd& fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

Handed receive_handed(int socket, std::span<char> room) {
  Handed handed;
  int flags = 0;
  const ssize_t got = receive_with_fd(socket, room, handed.fd, flags);
  if (got < 0 && errno == EAGAIN) return handed;
  const bool whole = got > 0 && (flags & MSG_TRUNC) == 0;
  handed.state = whole ? Handed::State::message : Handed::State::closed;
  handed.size = whole ? static_cast<std::size_t>(got) : 0;
  return handed;
}

bool take_listener(const Fd& fd) {
  const int family = option(fd, SO_DOMAIN);
  const bool listens = (family == AF_INET || family == AF_INET6) &&
                       option(fd, SO_PROTOCOL) == IPPROTO_TCP && option(fd, SO_ACCEPTCONN) == 1;
  return listens && ::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0;
}

}  // namespace jail::egress
