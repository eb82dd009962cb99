#include <string_view>
#include <utility>

#include "jail/jail.h"
#include "parent/fd_passing.h"
#include "parent/jail_state.h"
#include "parent/messages.h"
#include "parent/order.h"
#include "plan/check_spec.h"

namespace jail {
namespace {

constexpr const char* doing = "make a socket in the jail's network";

}  // namespace

Result<Fd> Jail::request_socket(SocketFamily family) const {
  const State& jail = *state_;
  if (jail.failure) return *jail.failure;
  if (!jail.spawning) return invalid("socket: the jail runs one program (JailSpec::life)");
  if (jail.phase != Phase::running) {
    return invalid("socket: the jail was not started, or has ended");
  }
  auto answer = socket_pair();
  if (!answer) return std::move(answer).error();
  if (auto done = set_non_blocking(answer->first); !done) return done.error();
  wire::Order order{};
  order.type = family == SocketFamily::ipv6 ? wire::order_socket_ipv6 : wire::order_socket_ipv4;
  const std::string_view bytes(reinterpret_cast<const char*>(&order), sizeof order);
  const int lent[wire::socket_fds] = {answer->second.get()};
  if (!send_with_fds(jail.control.get(), bytes, lent)) return sending_error(doing);
  return std::move(answer->first);
}

Result<Fd> Jail::take_socket(int request) {
  Received received;
  switch (receive(request, received)) {
    case Reading::nothing:
      return Fd();
    case Reading::over:
      break;
    case Reading::no_room:
      return no_room_for_descriptor();
    case Reading::got:
      if (received.message.type == wire::message_failed) {
        return step_error(received.message, doing);
      }
      if (received.message.type == wire::message_socket && received.fd.valid()) {
        return std::move(received.fd);
      }
      break;
  }
  return Error{ErrorKind::closed, std::string(doing) + ": the jail has ended", 0, {}};
}

}  // namespace jail
