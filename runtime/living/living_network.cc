// The destinations that a living sandbox may reach, and changes to them.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "runtime/living/living_sandbox.h"

namespace runtime {
namespace {

namespace asio = boost::asio;
using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;
using Rules = std::vector<std::string>;

// Both steps take milliseconds, unless the machine stands still.
constexpr std::chrono::seconds patience_for_a_change{20};

Error not_in_time(const char* who) {
  return {ErrorKind::timed_out, std::string("network: ") + who + " does not answer", 0, {}};
}

// Connections of an earlier way out may linger, and a new one does not wait for them. A guest that
// took the port first keeps it.
Result<void> listen_for_guests(const Fd& socket, std::uint16_t port, std::string_view what) {
  constexpr int backlog = 128;
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(socket.get(), backlog) == 0;
  if (listens) return {};
  const std::string where = "network: port " + std::to_string(port);
  if (errno == EADDRINUSE) {
    return Error{ErrorKind::refused,
                 where + " of the sandbox, where its " + std::string(what) + " would be, is in use",
                 errno,
                 {}};
  }
  return Error{ErrorKind::kernel, where + ": listen", errno, {}};
}

// The Fd is not valid where the socket did not come in time.
asio::awaitable<Result<Fd>> take_socket(const LivingSandbox& sandbox, Alarm& alarm) {
  const auto request = sandbox.request_socket(jail::SocketFamily::ipv4);
  if (!request) co_return request.error();
  const Alarm::Watch watch(alarm, request->get());
  for (;;) {
    auto socket = jail::Jail::take_socket(request->get());
    if (!socket || socket->valid() || alarm.deadline_passed()) co_return socket;
    co_await alarm.wait();
  }
}

// Returns false where the proxy did not answer in time.
asio::awaitable<Result<bool>> ask_for_rules(const Fd& way_out, Alarm& alarm, const Rules& rules) {
  const auto asked = jail::EgressProxy::request_change(way_out.get(), rules);
  if (!asked) co_return asked.error();
  const Alarm::Watch watch(alarm, way_out.get());
  for (;;) {
    const auto holds = jail::EgressProxy::take_change(way_out.get());
    if (!holds || *holds || alarm.deadline_passed()) co_return holds;
    co_await alarm.wait();
  }
}

asio::awaitable<std::shared_ptr<Alarm>> alarm_for_a_change(const TimeSource& clock) {
  const auto alarm = Alarm::create(co_await asio::this_coro::executor, clock, Cancel());
  alarm->set_deadline(clock.now() + patience_for_a_change);
  co_return alarm;
}

}  // namespace

Rules LivingSandbox::network_rules() const {
  const std::lock_guard lock(mutex_);
  return network_rules_;
}

std::vector<SecretName> LivingSandbox::secret_names() const {
  const std::lock_guard lock(mutex_);
  return gateway_ == nullptr ? std::vector<SecretName>() : gateway_->names();
}

std::vector<NetworkSecret> LivingSandbox::secrets() const {
  const std::lock_guard lock(mutex_);
  return gateway_ == nullptr ? std::vector<NetworkSecret>() : gateway_->secrets();
}

asio::awaitable<Result<void>> LivingSandbox::set_network(Rules rules,
                                                         std::vector<NetworkSecret> secrets) {
  co_await for_its_network_.wait(mutex_, Bell::Time::max(),
                                 [this] { return !std::exchange(has_network_change_, true); });
  const std::shared_ptr<void> turn(nullptr, [self = shared_from_this()](void*) {
    const std::lock_guard lock(self->mutex_);
    self->has_network_change_ = false;
    self->for_its_network_.ring();
  });
  co_return co_await change_network(rules, secrets);
}

// The port of the gateway is taken first, so that the network changes as a whole or not at all.
asio::awaitable<Result<void>> LivingSandbox::change_network(
    const Rules& rules, const std::vector<NetworkSecret>& secrets) {
  Result<Fd> listener = Fd();
  if (!secrets.empty()) listener = co_await listen_for_secrets();
  if (!listener) co_return listener.error();
  auto changed = co_await change_rules(rules);
  if (!changed) {
    const std::lock_guard lock(mutex_);
    if (network_rules_.empty()) close_gateway_locked();
    co_return changed;
  }
  co_return note_secrets(std::move(*listener), rules, secrets);
}

// The Fd is not valid where the gateway listens already.
asio::awaitable<Result<Fd>> LivingSandbox::listen_for_secrets() {
  if (gateways_ == nullptr) co_return jail::invalid("network: there are no secrets here");
  {
    const std::lock_guard lock(mutex_);
    if (gateway_ != nullptr) co_return Fd();
  }
  const auto alarm = co_await alarm_for_a_change(*clock_);
  auto socket = co_await take_socket(*this, *alarm);
  if (!socket) co_return socket;
  if (!socket->valid()) co_return not_in_time("the sandbox");
  const auto listens = listen_for_guests(*socket, secret_gateway_port, "gateway for secrets");
  if (!listens) co_return listens.error();
  ::fcntl(socket->get(), F_SETFL, O_NONBLOCK);
  co_return socket;
}

Result<void> LivingSandbox::note_secrets(Fd listener, const Rules& rules,
                                         const std::vector<NetworkSecret>& secrets) {
  const std::lock_guard lock(mutex_);
  if (!jail_ || ending_) return has_ended_error();
  if (secrets.empty()) {
    close_gateway_locked();
    return {};
  }
  if (gateway_ == nullptr) {
    // The one that was there has gone with its jail.
    if (!listener.valid()) return has_ended_error();
    gateway_ = SecretGateway::open(std::move(listener), executor_, gateways_, network_label_);
  }
  gateway_->set(rules, secrets);
  return {};
}

void LivingSandbox::close_gateway_locked() {
  if (gateway_ != nullptr) gateway_->close();
  gateway_.reset();
}

asio::awaitable<Result<void>> LivingSandbox::change_rules(const Rules& rules) {
  std::shared_ptr<const Fd> way_out;
  {
    const std::lock_guard lock(mutex_);
    if (!jail_ || ending_) co_return has_ended_error();
    way_out = way_out_;
  }
  if (way_out != nullptr) {
    const auto alarm = co_await alarm_for_a_change(*clock_);
    const auto holds = co_await ask_for_rules(*way_out, *alarm, rules);
    const bool is_lost = !holds && holds.error().kind == ErrorKind::closed;
    if (holds && *holds) co_return note_network(rules.empty() ? nullptr : way_out, rules);
    if (!holds && holds.error().kind == ErrorKind::invalid) co_return holds.error();
    // It is unknown which rules hold now, so the way out is closed, which needs no answer. Where
    // the proxy has ended, nothing is open.
    (void)note_network(nullptr, {});
    if (!is_lost) co_return holds ? not_in_time("its proxy") : holds.error();
  }
  if (rules.empty()) co_return note_network(nullptr, {});
  co_return co_await open_way_out(rules);
}

// Init makes a socket in the network of the jail; nobody inside gets it.
asio::awaitable<Result<void>> LivingSandbox::open_way_out(const Rules& rules) {
  if (!egress_) co_return jail::invalid("network: there is no egress");
  const auto alarm = co_await alarm_for_a_change(*clock_);
  const auto socket = co_await take_socket(*this, *alarm);
  if (!socket) co_return socket.error();
  if (!socket->valid()) co_return not_in_time("the sandbox");
  if (auto listens = listen_for_guests(*socket, jail::egress_port, "way out"); !listens) {
    co_return listens;
  }
  const auto proxy = egress_();
  if (!proxy) co_return proxy.error();
  auto served = (*proxy)->serve(*socket, rules, network_label_);
  if (!served) {
    Error error = served.error();
    // Callers take `closed` for the end of the sandbox, but here the proxy has ended.
    if (error.kind == ErrorKind::closed) error.kind = ErrorKind::kernel;
    co_return error;
  }
  co_return note_network(std::make_shared<const Fd>(std::move(*served)), rules);
}

Result<void> LivingSandbox::note_network(std::shared_ptr<const Fd> way_out, Rules rules) {
  const std::lock_guard lock(mutex_);
  if (!jail_ || ending_) return has_ended_error();
  way_out_ = std::move(way_out);
  network_rules_ = std::move(rules);
  return {};
}

}  // namespace runtime
