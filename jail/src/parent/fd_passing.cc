#include "parent/fd_passing.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace jail {
namespace {

constexpr std::size_t max_fds = 253;  // the kernel's SCM_MAX_FD

template <class Take>
ssize_t repeat_if_interrupted(Take take) {
  ssize_t got;
  do {
    got = take();
  } while (got < 0 && errno == EINTR);
  return got;
}

// The kernel looks for a message first, and whether the other end was closed second. What was sent
// between the two is there when it says that there is nothing more. An empty message is none. Where
// the other end has closed without reading all that was sent to it, the kernel says so once
// (ECONNRESET), before it hands out what is queued here.
template <class Take>
ssize_t receive_before_end(Take take) {
  ssize_t got = repeat_if_interrupted(take);
  if (got < 0 && errno == ECONNRESET) got = repeat_if_interrupted(take);
  if (got != 0) return got;
  return std::max<ssize_t>(repeat_if_interrupted(take), 0);
}

int received_descriptor(msghdr& header) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    int opened = -1;
    std::memcpy(&opened, CMSG_DATA(at), sizeof opened);
    return opened;
  }
  return -1;
}

}  // namespace

bool send_with_fds(int socket, std::string_view bytes, std::span<const int> fds) noexcept {
  if (fds.size() > max_fds) {
    errno = EINVAL;
    return false;
  }
  alignas(cmsghdr) char control[CMSG_SPACE(max_fds * sizeof(int))];
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
  const ssize_t sent = repeat_if_interrupted(
      [&] { return ::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT); });
  return sent >= 0;
}

ssize_t receive_message(int socket, std::span<char> room) noexcept {
  return receive_before_end([&] { return ::recv(socket, room.data(), room.size(), MSG_DONTWAIT); });
}

ssize_t receive_with_fd(int socket, std::span<char> room, Fd& fd, int& flags) noexcept {
  // Room for one descriptor: what CMSG_SPACE() rounds up to takes two, and the kernel would open a
  // second one that nobody closes.
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))] = {};
  iovec part{room.data(), room.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  return receive_before_end([&] {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    fd.reset();
    const ssize_t got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    flags = header.msg_flags;
    if (got >= 0) fd.reset(received_descriptor(header));
    return got;
  });
}

}  // namespace jail
