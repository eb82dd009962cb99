#include "egress/proxy.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace jail::egress {
namespace {

constexpr std::size_t room_bytes = max_admission_bytes;
// The number of connections beyond a jail's bound that get a refusal. Further ones wait in the
// kernel.
constexpr std::size_t refused_at_once = 16;
constexpr std::size_t accepted_per_turn = 32;
constexpr std::chrono::milliseconds shortage_pause{100};

RuleSet parse_rules(const std::vector<std::string>& texts) {
  std::vector<Rule> rules;
  for (const std::string& text : texts) {
    auto rule = parse_rule(text);
    if (rule) rules.push_back(std::move(*rule));
  }
  return RuleSet(std::move(rules));
}

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
    // A jail whose descriptor found no room here ends before it has begun.
    if (handed.fd.valid()) {
      admit(parse_admission({room_.data(), handed.size}), std::move(handed.fd));
    }
  }
}

void Proxy::admit(const Admission& admission, Fd control) {
  const std::uint64_t id = ++last_id_;
  if (!poller_.watch(control.get(), {Watched::jail, id})) return;
  auto jail = std::make_unique<AdmittedJail>(
      AdmittedJail{.owner = {id, admission.label, parse_rules(admission.rules)},
                   .change = admission.change,
                   .control = std::move(control)});
  jails_.emplace(id, std::move(jail));
}

void Proxy::read_jail(std::uint64_t id) {
  const auto found = jails_.find(id);
  if (found == jails_.end()) return;
  AdmittedJail& jail = *found->second;
  for (;;) {
    Handed handed = receive_handed(jail.control.get(), room_);
    if (handed.state == Handed::State::nothing) return;
    bool is_fine = handed.state == Handed::State::message;
    if (is_fine) {
      is_fine = jail.listener.valid() ? change_rules(jail, {room_.data(), handed.size})
                                      : take_listener_of(jail, std::move(handed.fd));
    }
    if (!is_fine) return end_jail(id);
  }
}

bool Proxy::take_listener_of(AdmittedJail& jail, Fd listener) {
  if (!take_listener(listener) ||
      !poller_.watch(listener.get(), {Watched::listener, jail.owner.id})) {
    return false;
  }
  jail.listener = std::move(listener);
  return true;
}

// Returns false where the way out must be closed: the list of rules is empty (the port is free
// before the answer arrives), the datagram is not a change, or the answer finds no room, which
// cannot happen to a caller that waits for each answer.
bool Proxy::change_rules(AdmittedJail& jail, std::string_view datagram) {
  const auto change = parse_new_rules(datagram);
  if (!change || jail.change != RuleChange::by_owner) return false;
  jail.owner.rules = parse_rules(change->rules);
  const Time now = Clock::now();
  const std::vector<std::uint64_t> all(jail.connections.begin(), jail.connections.end());
  for (const std::uint64_t id : all) {
    const auto found = connections_.find(id);
    settle(id, *found->second, found->second->judge_again(now));
  }
  const bool is_over = change->rules.empty();
  if (is_over) jail.listener.reset();
  constexpr char done = 1;
  const bool is_told =
      ::send(jail.control.get(), &done, sizeof done, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof done;
  return is_told && !is_over;
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
      // The shortage is mostly of descriptors or memory; no event tells when there is room again.
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
