#include "parent/fd_passing.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

namespace jail {
namespace {

constexpr std::size_t most_fds = 253;  // the kernel's SCM_MAX_FD

}  // namespace

bool send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) noexcept {
  if (fds.size() > most_fds) {
    errno = EINVAL;
    return false;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(most_fds * sizeof(int))];
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

ssize_t receive_with_fd(int socket, std::span<char> room, Fd& fd, int& flags) noexcept {
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
  flags = header.msg_flags;
  if (got < 0) return got;
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    int opened = -1;
    std::memcpy(&opened, CMSG_DATA(at), sizeof opened);
    fd.reset(opened);
  }
  return got;
}

}  // namespace jail
