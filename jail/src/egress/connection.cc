#include "egress/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "egress/answer.h"
#include "egress/connect.h"

namespace jail::egress {
namespace {

using std::chrono::seconds;

constexpr seconds head_time{10};
constexpr seconds parting_time{2};
constexpr std::size_t read_at_once = 16 << 10;     // bytes of a head
constexpr std::size_t bytes_per_turn = 256 << 10;  // bytes of each direction
constexpr std::size_t max_addresses = 8;

void reset_at_close(const Fd& fd) {
  const linger at_once{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

}  // namespace

Connection::Connection(std::uint64_t id, const Owner& owner, Tools& tools, Fd client, Place place,
                       Time now)
    : id_(id), owner_(owner), tools_(tools), place_(place), deadline_(now + head_time) {
  client_.fd = std::move(client);
  const int on = 1;
  ::setsockopt(client_.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() {
  if (state_ == State::looking_up) tools_.resolver.drop(id_, owner_.id);
  if (state_ == State::looking_up || state_ == State::connecting) {
    record_decision("nobody waited for it any more");
  }
  if (state_ == State::carrying) {
    // The peers must see a reset, so that nobody takes truncated data for complete data.
    reset_at_close(client_.fd);
    reset_at_close(server_.fd);
  }
  if (connected_) record_end();
}

void Connection::note(Watched which, std::uint32_t events) {
  Side& side = which == Watched::client ? client_ : server_;
  constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;
  if ((events & (EPOLLIN | EPOLLRDHUP | broken)) != 0) side.readable = true;
  if ((events & (EPOLLOUT | broken)) != 0) side.writable = true;
  if ((events & (EPOLLRDHUP | broken)) != 0) side.hung_up = true;
}

Turn Connection::run(Time now) {
  for (;;) {
    const State before = state_;
    switch (state_) {
      case State::reading:
        state_ = read_request(now);
        break;
      case State::looking_up:
      case State::connecting:
        // A client that closed a tunnel before it was open is gone. With plain HTTP the close may
        // be the end of the request, which the other side has to see.
        if (client_.hung_up && reader_.protocol() != Protocol::http) return Turn::over;
        if (state_ == State::connecting) state_ = await_connection(now);
        break;
      case State::carrying:
        return carry(now);
      case State::answering:
        state_ = answer_client(now);
        break;
      case State::parting:
        return part();
      case State::over:
        return Turn::over;
    }
    if (state_ == before) return Turn::waits;
  }
}

Connection::State Connection::read_request(Time now) {
  const std::span<char> room = tools_.room.first(read_at_once);
  while (client_.readable && reader_.reading().state == Reading::State::more) {
    const ssize_t got = ::recv(client_.fd.get(), room.data(), room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) client_.readable = false;
    if (got < 0 && errno != EAGAIN) return State::over;
    if (got == 0) {
      if (reader_.is_empty()) return State::over;
      return refuse(Why::unreadable, "it ends before it is whole", now);
    }
    if (got > 0) reader_.feed({room.data(), static_cast<std::size_t>(got)});
    say(reader_.take_reply());
  }
  if (down_.flush(client_) == Flow::State::broken) return State::over;
  if (reader_.reading().state == Reading::State::more) return State::reading;
  Reading reading = reader_.take();
  asked_ = std::move(reading.asked);
  if (reading.state == Reading::State::refused) {
    return refuse(reading.refusal.why, std::move(reading.refusal.reason), now);
  }
  destination_ = std::move(reading.request.destination);
  up_.put(std::move(reading.request.first_bytes));
  return admit(now);
}

Connection::State Connection::admit(Time now) {
  if (place_ == Place::beyond) {
    return refuse(Why::busy, "this jail has as many connections as it may have", now);
  }
  last_connect_ = deadline_ = now + tools_.settings.connect;
  // The rule is checked before any look-up: a question to a name server carries bytes out.
  rule_ = allowing_rule();
  if (rule_ == nullptr) {
    return refuse(Why::not_allowed,
                  destination_.address ? "no rule names this address" : "no rule names it", now);
  }
  if (destination_.address) {
    addresses_ = {*destination_.address};
    return connect_next(now);
  }
  std::vector<Address> known;
  for (const auto& [name, address] : tools_.settings.addresses) {
    if (name == destination_.host) known.push_back(address);
  }
  if (!known.empty()) return admit_addresses(known, now);
  if (!tools_.resolver.ask(id_, owner_.id, destination_.host)) {
    return refuse(Why::busy, "too many names are being looked up", now);
  }
  return State::looking_up;
}

const Rule* Connection::allowing_rule() const {
  return destination_.address ? owner_.rules.find(*destination_.address, destination_.port)
                              : owner_.rules.find(destination_.host, destination_.port);
}

// An address that the client asked for by itself was allowed by its own rule.
bool Connection::allows_address(const Address& address) const {
  return destination_.address ||
         owner_.rules.allows_behind_name(destination_.host, address, destination_.port);
}

Turn Connection::judge_again(Time now) {
  const bool is_judged = state_ == State::looking_up || state_ == State::connecting ||
                         state_ == State::carrying || (state_ == State::parting && connected_);
  if (!is_judged) return Turn::waits;  // not judged yet, or refused
  rule_ = allowing_rule();
  const auto first =
      addresses_.begin() + static_cast<std::ptrdiff_t>(next_address_ - (next_address_ > 0 ? 1 : 0));
  const bool is_allowed =
      rule_ != nullptr && std::all_of(first, connected_ ? first + 1 : addresses_.end(),
                                      [&](const Address& each) { return allows_address(each); });
  if (is_allowed) return Turn::waits;
  constexpr const char* reason = "no rule names it any more";
  if (connected_) {
    why_ended_ = reason;
    state_ = State::carrying;  // bytes that have not been passed on by now never will be
    return Turn::over;
  }
  if (state_ == State::looking_up) tools_.resolver.drop(id_, owner_.id);
  server_.fd.reset();
  state_ = refuse(Why::not_allowed, reason, now);
  return run(now);
}

void Connection::take(Found found, Time now) {
  if (state_ != State::looking_up) return;
  state_ = found.addresses.empty()
               ? refuse(Why::unresolved, "the name does not resolve: " + found.trouble, now)
               : admit_addresses(found.addresses, now);
}

Connection::State Connection::admit_addresses(const std::vector<Address>& addresses, Time now) {
  for (const Address& address : addresses) {
    if (addresses_.size() < max_addresses && allows_address(address)) {
      addresses_.push_back(address);
    }
  }
  if (!addresses_.empty()) return connect_next(now);
  const std::string purpose(special_purpose(addresses.front()));
  // The address itself is written to the log alone: the guest must not learn what the host's
  // network is like.
  return refuse(Why::not_allowed, "it leads to an address (" + purpose + ") that no rule names",
                now, to_text(addresses.front()));
}

Connection::State Connection::connect_next(Time now) {
  while (next_address_ < addresses_.size()) {
    const Address& address = addresses_[next_address_++];
    Fd fd = start_connection(address, destination_.port);
    if (!fd.valid() || !tools_.poller.watch(fd.get(), {Watched::server, id_})) {
      connect_error_ = errno;
      continue;
    }
    server_ = Side{std::move(fd)};
    // The last address may use all the remaining time; an earlier one may use its share.
    const auto left = std::max(last_connect_ - now, Time::duration::zero());
    deadline_ = now + left / static_cast<int>(addresses_.size() - next_address_ + 1);
    return State::connecting;
  }
  server_.fd.reset();
  const int error = std::exchange(connect_error_, 0);
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
    return refuse(Why::busy, "the proxy is short of descriptors or memory", now);
  }
  const Why why = error == ECONNREFUSED ? Why::refused : Why::unreachable;
  return refuse(why, error == 0 ? "no answer in time" : error_text(error), now);
}

Connection::State Connection::await_connection(Time now) {
  if (!server_.writable) return State::connecting;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(server_.fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) return begin(now);
  connect_error_ = error;
  return connect_next(now);
}

Connection::State Connection::begin(Time now) {
  connected_ = true;
  connected_at_ = now;
  record_decision(rule_->text);
  const int on = 1;
  ::setsockopt(server_.fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  say(go_ahead(reader_.protocol()));
  deadline_ = now + tools_.settings.idle;
  return State::carrying;
}

Turn Connection::carry(Time now) {
  const std::uint64_t before = up_.moved() + down_.moved();
  const Flow::State up = up_.move(client_, server_, bytes_per_turn, tools_.room);
  const Flow::State down = down_.move(server_, client_, bytes_per_turn, tools_.room);
  if (up_.moved() + down_.moved() != before) deadline_ = now + tools_.settings.idle;
  if (up == Flow::State::broken || down == Flow::State::broken) return Turn::over;
  if (up == Flow::State::over && down == Flow::State::over) {
    state_ = client_.hung_up ? State::over : State::parting;
    if (state_ == State::over) return Turn::over;
    server_.fd.reset();
    deadline_ = now + parting_time;
    return part();
  }
  return up == Flow::State::more || down == Flow::State::more ? Turn::more : Turn::waits;
}

Connection::State Connection::answer_client(Time now) {
  const Flow::State state = down_.move(server_, client_, 0, tools_.room);
  if (state == Flow::State::waits) return State::answering;
  deadline_ = std::min(deadline_, now + parting_time);
  return State::parting;
}

Turn Connection::part() {
  for (std::size_t left = bytes_per_turn; client_.readable;) {
    const ssize_t got = ::recv(client_.fd.get(), tools_.room.data(), tools_.room.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) return Turn::over;
    if (got < 0) {
      client_.readable = false;
      break;
    }
    left -= std::min(left, static_cast<std::size_t>(got));
    if (left == 0) return Turn::more;
  }
  return Turn::waits;
}

Turn Connection::expire(Time now) {
  if (now < deadline_) return Turn::waits;
  if (state_ == State::reading && !reader_.is_empty()) {
    state_ = refuse(Why::too_slow, "it was not whole in time", now);
  } else if (state_ == State::looking_up) {
    tools_.resolver.drop(id_, owner_.id);
    state_ = refuse(Why::unresolved, "the name did not resolve in time", now);
  } else if (state_ == State::connecting) {
    connect_error_ = ETIMEDOUT;
    state_ = connect_next(now);
  } else {
    return Turn::over;
  }
  return run(now);
}

void Connection::say(std::string bytes) {
  said_ += bytes.size();
  down_.put(std::move(bytes));
}

Connection::State Connection::refuse(Why why, std::string reason, Time now, std::string detail) {
  const Refusal refusal{why, std::move(reason)};
  EgressDecision decision;
  decision.jail = owner_.label;
  decision.destination = asked_;
  decision.allowed = why == Why::unresolved || why == Why::unreachable || why == Why::refused;
  decision.reason = refusal.reason + (detail.empty() ? "" : ": " + detail);
  tools_.journal.write(owner_.id, std::move(decision));
  up_ = Flow();
  down_.put(answer(reader_.protocol(), refusal, asked_));
  down_.close();
  deadline_ = now + head_time;
  return State::answering;
}

void Connection::record_decision(std::string reason) {
  EgressDecision decision;
  decision.jail = owner_.label;
  decision.destination = asked_;
  if (connected_) decision.address = to_text(addresses_[next_address_ - 1]);
  decision.allowed = true;
  decision.reason = std::move(reason);
  tools_.journal.write(owner_.id, std::move(decision));
}

void Connection::record_end() {
  EgressDecision decision;
  decision.event = EgressEvent::ended;
  decision.jail = owner_.label;
  decision.destination = asked_;
  decision.address = to_text(addresses_[next_address_ - 1]);
  decision.allowed = true;
  decision.sent = up_.moved();
  decision.received = down_.moved() - std::min(down_.moved(), said_);
  decision.reason = why_ended_;
  decision.lasted =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - connected_at_);
  tools_.journal.write(owner_.id, std::move(decision));
}

}  // namespace jail::egress
