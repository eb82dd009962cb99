#include "child/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"

namespace jail::child {

long send_message(int socket, const wire::Message& message, int fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{const_cast<wire::Message*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    auto* rights = reinterpret_cast<cmsghdr*>(control);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(rights)) = fd;
  }
  return raw::call(SYS_sendmsg, socket, raw::address(&header), MSG_NOSIGNAL);
}

long receive(int socket, void* buffer, std::size_t size, int* fds, std::size_t fd_capacity,
             std::size_t* fd_count, int flags) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * wire::most_launch_fds)] = {};
  iovec part{buffer, size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const long received =
      raw::call(SYS_recvmsg, socket, raw::address(&header), flags | MSG_CMSG_CLOEXEC);
  if (fd_count != nullptr) *fd_count = 0;
  if (received < 0 || header.msg_controllen < sizeof(cmsghdr)) return received;
  const auto* rights = reinterpret_cast<const cmsghdr*>(control);
  if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) return received;
  const std::size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  const int* sent = reinterpret_cast<const int*>(CMSG_DATA(rights));
  for (std::size_t i = 0; i < count; ++i) {
    if (fds != nullptr && i < fd_capacity) {
      fds[i] = sent[i];
    } else {
      raw::call(SYS_close, sent[i]);
    }
  }
  if (fd_count != nullptr) *fd_count = count < fd_capacity ? count : fd_capacity;
  return received;
}

}  // namespace jail::child
