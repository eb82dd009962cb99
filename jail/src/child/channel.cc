#include "child/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// Descriptors on their way count for all processes of a user together, against the sender's own
// RLIMIT_NOFILE (unix(7), ETOOMANYREFS). They are soon received, so there is room again.
constexpr int tries_for_room = 500;
constexpr timespec pause_for_room{0, 1'000'000};

}  // namespace

void send_answer(int socket, wire::MessageType type, std::int32_t serial, std::int32_t error) {
  wire::Message message{};
  message.type = type;
  message.index = serial;
  message.error = error;
  send_message(socket, message);
}

void close_all(const int* fds, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (fds[i] >= 0) raw::call(SYS_close, fds[i]);
  }
}

long send_bytes(int socket, const void* bytes, std::size_t size, const int* fds, std::size_t count,
                int flags) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_fds)] = {};
  iovec part{const_cast<void*>(bytes), size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (count > 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    auto* rights = reinterpret_cast<cmsghdr*>(control);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
    int* places = reinterpret_cast<int*>(CMSG_DATA(rights));
    for (std::size_t i = 0; i < count; ++i) places[i] = fds[i];
  }
  return raw::call(SYS_sendmsg, socket, raw::address(&header), MSG_NOSIGNAL | flags);
}

long send_with_room(int socket, const void* bytes, std::size_t size, int fd) {
  long sent = 0;
  for (int tries = 0; tries < tries_for_room; ++tries) {
    sent = send_bytes(socket, bytes, size, &fd, fd >= 0 ? 1 : 0);
    if (sent != -ETOOMANYREFS) break;
    const timespec pause = pause_for_room;
    raw::call(SYS_ppoll, 0, 0, raw::address(&pause), 0);
  }
  return sent;
}

long send_message(int socket, const wire::Message& message, int fd) {
  return send_with_room(socket, &message, sizeof message, fd);
}

void send_failure(int socket, std::uint32_t phase, std::int32_t index, std::int32_t error) {
  wire::Message message{};
  message.type = wire::message_failed;
  message.phase = phase;
  message.index = index;
  message.error = error;
  send_message(socket, message);
}

long receive(int socket, void* buffer, std::size_t size, int* fds, std::size_t fd_capacity,
             std::size_t* fd_count, int flags) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_fds)] = {};
  iovec part{buffer, size};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  const auto take = [&](int mode) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    return raw::call(SYS_recvmsg, socket, raw::address(&header), mode | MSG_CMSG_CLOEXEC);
  };
  long received = take(flags);
  // The other end has closed without reading all that was sent to it. The kernel says so once,
  // before it hands out what is queued here.
  if (received == -ECONNRESET) received = take(flags);
  // The kernel looks for a message first, and only then whether the other end was closed. A message
  // that was sent between the two is there now.
  if (received == 0 && header.msg_controllen == 0) {
    const long sent_meanwhile = take(flags | MSG_DONTWAIT);
    if (sent_meanwhile > 0) received = sent_meanwhile;
  }
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
