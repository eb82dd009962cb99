#include "egress/proxy.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace jail::egress {
namespace {

constexpr std::size_t room_bytes = most_admission_bytes;
// Connections beyond a jail's bound that are told so. What comes beyond these waits in the kernel.
constexpr std::size_t refused_at_once = 16;
constexpr std::size_t accepted_per_turn = 32;
constexpr std::chrono::milliseconds shortage_pause{100};

}  // namespace

Proxy::Proxy(int control, Fd names, Settings settings)
    : settings_(std::move(settings)),
      control_(control),
      room_(room_bytes),
      resolver_(std::move(names)),
      journal_(control),
      tools_{settings_, poller_, resolver_, journal_, room_} {}

bool Proxy::run() {
  if (!poller_.valid() || !poller_.watch(control_, {Watched::control, 0}) ||
      !poller_.watch(resolver_.event_fd(), {Watched::resolver, 0})) {
    return false;
  }
  while (control_state_ == Control::open) {
    const int timeout = ready_.empty() ? deadlines_.milliseconds_left(Clock::now()) : 0;
    for (const epoll_event& event : poller_.wait(timeout)) dispatch(event);
    run_ready();
    run_due();
    journal_.flush();
  }
  return control_state_ == Control::closed;
}

void Proxy::dispatch(const epoll_event& event) {
  const Token token = Poller::token_of(event);
  switch (token.what) {
    case Watched::control:
      return read_control();
    case Watched::resolver:
      return take_answers();
    case Watched::jail:
      return read_jail(token.id);
    case Watched::listener:
      if (const auto jail = jails_.find(token.id); jail != jails_.end()) {
        jail->second->backlog = true;
        make_ready(token.id);
      }
      return;
    case Watched::client:
    case Watched::server:
      if (const auto found = connections_.find(token.id); found != connections_.end()) {
        found->second->note(token.what, event.events);
        make_ready(token.id);
      }
      return;
  }
}

void Proxy::read_control() {
  for (;;) {
    Handed handed = receive_handed(control_, room_);
    if (handed.state == Handed::State::nothing) return;
    if (handed.state == Handed::State::closed) {
      control_state_ = Control::closed;
      return;
    }
    // One whose descriptor found no room here is over for the jail before it has begun.
    if (handed.fd.valid()) {
      admit(parse_admission({room_.data(), handed.size}), std::move(handed.fd));
    }
  }
}

void Proxy::admit(const Admission& admission, Fd control) {
  std::vector<Rule> rules;
  for (const std::string& text : admission.rules) {
    auto rule = parse_rule(text);
    if (rule) rules.push_back(std::move(*rule));
  }
  const std::uint64_t id = ++last_id_;
  if (!poller_.watch(control.get(), {Watched::jail, id})) return;
  auto jail = std::make_unique<AdmittedJail>(
      AdmittedJail{{id, admission.label, RuleSet(std::move(rules))}, std::move(control), {}, {}});
  jails_.emplace(id, std::move(jail));
}

void Proxy::read_jail(std::uint64_t id) {
  const auto found = jails_.find(id);
  if (found == jails_.end()) return;
  AdmittedJail& jail = *found->second;
  for (;;) {
    Handed handed = receive_handed(jail.control.get(), room_);
    if (handed.state == Handed::State::nothing) return;
    const bool first = handed.state == Handed::State::message && !jail.listener.valid();
    if (!first || !take_listener(handed.fd) ||
        !poller_.watch(handed.fd.get(), {Watched::listener, id})) {
      return end_jail(id);
    }
    jail.listener = std::move(handed.fd);
  }
}

void Proxy::accept_some(AdmittedJail& jail) {
  const std::size_t most = settings_.connections_per_jail + refused_at_once;
  for (std::size_t count = 0; jail.backlog && jail.connections.size() < most; ++count) {
    if (count == accepted_per_turn) {
      make_ready(jail.owner.id);
      return;
    }
    Fd client(::accept4(jail.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (client.valid()) {
      add_connection(jail, std::move(client));
    } else if (errno == EAGAIN) {
      jail.backlog = false;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      // Of descriptors or memory mostly; no event tells when there is room again.
      deadlines_.set(jail.owner.id, Clock::now() + shortage_pause);
      return;
    }
  }
}

void Proxy::add_connection(AdmittedJail& jail, Fd client) {
  const std::uint64_t id = ++last_id_;
  if (!poller_.watch(client.get(), {Watched::client, id})) return;
  const Place place =
      jail.connections.size() < settings_.connections_per_jail ? Place::ordinary : Place::beyond;
  const Time now = Clock::now();
  auto connection =
      std::make_unique<Connection>(id, jail.owner, tools_, std::move(client), place, now);
  deadlines_.set(id, connection->deadline());
  jail.connections.insert(id);
  connections_.emplace(id, std::move(connection));
}

void Proxy::take_answers() {
  auto answers = resolver_.answers();
  if (!answers) {
    control_state_ = Control::no_names;
    return;
  }
  const Time now = Clock::now();
  for (Resolver::Resolved& resolved : *answers) {
    const auto found = connections_.find(resolved.ticket);
    if (found == connections_.end()) continue;
    found->second->take(std::move(resolved.found), now);
    make_ready(resolved.ticket);
  }
}

void Proxy::make_ready(std::uint64_t id) {
  if (is_ready_.insert(id).second) ready_.push_back(id);
}

void Proxy::run_ready() {
  const Time now = Clock::now();
  is_ready_.clear();
  for (const std::uint64_t id : std::exchange(ready_, {})) visit(id, &Connection::run, now);
}

void Proxy::run_due() {
  const Time now = Clock::now();
  for (const std::uint64_t id : deadlines_.take_due(now)) visit(id, &Connection::expire, now);
}

void Proxy::visit(std::uint64_t id, Turn (Connection::*turn)(Time), Time now) {
  if (const auto jail = jails_.find(id); jail != jails_.end()) {
    accept_some(*jail->second);
  } else if (const auto found = connections_.find(id); found != connections_.end()) {
    settle(id, *found->second, (*found->second.*turn)(now));
  }
}

void Proxy::settle(std::uint64_t id, Connection& connection, Turn turn) {
  if (turn == Turn::over) return end_connection(id);
  if (turn == Turn::more) make_ready(id);
  deadlines_.set(id, connection.deadline());
}

void Proxy::end_connection(std::uint64_t id) {
  const auto found = connections_.find(id);
  AdmittedJail& jail = *jails_.at(found->second->owner().id);
  jail.connections.erase(id);
  connections_.erase(found);
  deadlines_.forget(id);
  if (jail.backlog) make_ready(jail.owner.id);
}

void Proxy::end_jail(std::uint64_t id) {
  const auto found = jails_.find(id);
  found->second->listener.reset();
  found->second->backlog = false;
  for (const std::uint64_t connection : found->second->connections) {
    connections_.erase(connection);
    deadlines_.forget(connection);
  }
  deadlines_.forget(id);
  jails_.erase(found);
}

}  // namespace jail::egress
