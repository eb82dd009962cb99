#include "server/cli/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstring>

#include "jail/fd.h"

namespace server {
namespace {

std::string value_of(const runtime::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Notifier::Notifier(const runtime::Environment& environment)
    : socket_(value_of(environment, "NOTIFY_SOCKET")) {
  // WATCHDOG_PID names whom it is for: a wrapper may have handed its environment on.
  const auto pid = number_of(value_of(environment, "WATCHDOG_PID"));
  const auto period = number_of(value_of(environment, "WATCHDOG_USEC"));
  if (period && *period > 0 && (!pid || *pid == ::getpid())) {
    watchdog_ = std::chrono::microseconds(*period);
  }
}

void Notifier::tell(std::string_view state) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  // '@' stands for the zero byte of an abstract name, whose length counts.
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const jail::Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return;
  // Nobody waits for it: a systemd that does not listen is no reason not to serve.
  static_cast<void>(::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&address), length));
}

}  // namespace server
