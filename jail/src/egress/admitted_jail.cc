#include "egress/admitted_jail.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace jail::egress {
namespace {

int option(const Fd& fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

}  // namespace

Handed receive_handed(int socket, std::span<char> room) {
  // Room for one descriptor: what CMSG_SPACE() rounds up to takes two, and the kernel would open a
  // second one that nobody closes.
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))] = {};
  iovec part{room.data(), room.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  Handed handed;
  if (got < 0 && errno == EAGAIN) return handed;
  if (got > 0) {
    for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
      if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at), sizeof fd);
      handed.fd.reset(fd);
    }
  }
  const bool whole = got > 0 && (header.msg_flags & MSG_TRUNC) == 0;
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
