#include "runtime/living/port_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/this_coro.hpp>
#include <string>
#include <utility>

#include "runtime/sandbox/alarm.h"
#include "runtime/sandbox/time_source.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;
using jail::SocketFamily;

// The kernel doubles this. By default it would keep megabytes for each connection.
constexpr int buffer_bytes = 128 << 10;

Error port_error(ErrorKind kind, std::uint16_t port, const std::string& what, int error = 0) {
  return {kind, "port " + std::to_string(port) + " of the sandbox: " + what, error, {}};
}

// Returns whether connect(2) failed because the kernel or the sandbox lacks the address family.
bool is_no_family(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENETUNREACH;
}

bool is_ready(int fd, short events) {
  pollfd watched{.fd = fd, .events = events, .revents = 0};
  return ::poll(&watched, 1, 0) == 1;
}

asio::awaitable<Result<Fd>> take_socket(const LivingSandbox& sandbox, Alarm& alarm,
                                        SocketFamily family, std::uint16_t port) {
  const auto request = sandbox.request_socket(family);
  if (!request) co_return request.error();
  const Alarm::Watch watch(alarm, request->get());
  for (;;) {
    auto socket = jail::Jail::take_socket(request->get());
    if (!socket || socket->valid()) co_return socket;
    if (alarm.cancelled()) co_return port_error(ErrorKind::closed, port, "nobody waits for it");
    if (alarm.deadline_passed()) {
      co_return port_error(ErrorKind::timed_out, port, "the sandbox does not answer");
    }
    co_await alarm.wait();
  }
}

int begin_connect(int socket, SocketFamily family, std::uint16_t port) {
  for (const int option : {SO_RCVBUF, SO_SNDBUF}) {
    ::setsockopt(socket, SOL_SOCKET, option, &buffer_bytes, sizeof buffer_bytes);
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_addr = in6addr_loopback;
  const bool is_v6 = family == SocketFamily::ipv6;
  const auto* const address =
      is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  return ::connect(socket, address, is_v6 ? sizeof v6 : sizeof v4) == 0 ? 0 : errno;
}

// Returns 0 or an errno.
asio::awaitable<int> connect(Alarm& alarm, int socket, SocketFamily family, std::uint16_t port) {
  const int begun = begin_connect(socket, family, port);
  if (begun != EINPROGRESS) co_return begun;
  const Alarm::Watch watch(alarm, socket, Alarm::Descriptor::wait_write);
  while (!is_ready(socket, POLLOUT)) {
    if (alarm.cancelled()) co_return ECANCELED;
    if (alarm.deadline_passed()) co_return ETIMEDOUT;
    co_await alarm.wait();
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  co_return error;
}

Error connect_error(int error, std::uint16_t port) {
  if (error == ETIMEDOUT) {
    return port_error(ErrorKind::timed_out, port, "its server does not accept connections");
  }
  if (error == ECANCELED) return port_error(ErrorKind::closed, port, "nobody waits for it");
  if (error == ECONNREFUSED || is_no_family(error)) {
    return port_error(ErrorKind::refused, port, "nobody listens there");
  }
  return port_error(ErrorKind::kernel, port, "connect", error);
}

}  // namespace

asio::awaitable<Result<PortConnection>> connect_to_port(std::shared_ptr<LivingSandbox> sandbox,
                                                        std::uint16_t port,
                                                        LivingSandbox::Attendance attendance,
                                                        std::chrono::milliseconds patience,
                                                        Cancel cancel) {
  PortConnection connection{.place = sandbox->take_port_place(attendance)};
  if (connection.place == nullptr) {
    co_return port_error(ErrorKind::exhausted, port, "too many connections are open");
  }
  const auto clock = system_time();
  const auto alarm = Alarm::create(co_await asio::this_coro::executor, *clock, std::move(cancel));
  alarm->set_deadline(clock->now() + patience);
  int error = ECONNREFUSED;
  for (const SocketFamily family : {SocketFamily::ipv4, SocketFamily::ipv6}) {
    auto socket = co_await take_socket(*sandbox, *alarm, family, port);
    if (!socket) {
      if (is_no_family(socket.error().sys_errno)) continue;
      co_return socket.error();
    }
    error = co_await connect(*alarm, socket->get(), family, port);
    // Where this jail has ended, another jail may have its network by now.
    if (!sandbox->lives()) co_return port_error(ErrorKind::closed, port, "the sandbox has ended");
    if (error == 0) {
      connection.socket = std::move(*socket);
      co_return connection;
    }
    if (error != ECONNREFUSED && !is_no_family(error)) break;
  }
  co_return connect_error(error, port);
}

asio::awaitable<bool> outlives_its_connection(std::shared_ptr<LivingSandbox> sandbox,
                                              std::chrono::milliseconds patience, Cancel cancel) {
  const auto clock = system_time();
  const auto alarm = Alarm::create(co_await asio::this_coro::executor, *clock, std::move(cancel));
  alarm->set_deadline(clock->now() + patience);
  const auto answer = co_await take_socket(*sandbox, *alarm, SocketFamily::ipv4, 0);
  if (!sandbox->lives()) co_return false;
  // Whatever else is wrong, the sandbox is there; one that is paused answers late.
  co_return answer || answer.error().kind != ErrorKind::closed;
}

}  // namespace runtime
