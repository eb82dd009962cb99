#include "child/port_socket.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/channel.h"
#include "child/raw_syscall.h"

namespace jail::child {

void hand_out_socket(wire::OrderType order, int answer) {
  const int family = order == wire::order_socket_ipv6 ? AF_INET6 : AF_INET;
  const long socket = raw::call(SYS_socket, family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) {
    send_failure(answer, 1, wire::refused_by_kernel, static_cast<std::int32_t>(-socket));
    return;
  }
  wire::Message message{};
  message.type = wire::message_socket;
  const long sent = send_message(answer, message, static_cast<int>(socket));
  raw::call(SYS_close, socket);
  if (sent < 0) {
    send_failure(answer, 1, wire::refused_by_kernel, static_cast<std::int32_t>(-sent));
  }
}

}  // namespace jail::child
