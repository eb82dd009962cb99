// One connection of a program in a jail, from its first byte to its end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "egress/deadlines.h"
#include "egress/flow.h"
#include "egress/journal.h"
#include "egress/poller.h"
#include "egress/request.h"
#include "egress/resolver.h"
#include "egress/rule.h"
#include "egress/wire.h"

namespace jail::egress {

// The jail that the connections belong to. Must outlive them.
struct Owner {
  std::uint64_t id;
  std::string label;
  RuleSet rules;
};

// The parts that all connections share.
struct Tools {
  const Settings& settings;
  Poller& poller;
  Resolver& resolver;
  Journal& journal;
  std::span<char> room;  // read buffer; nothing stays in it between calls
};

enum class Place : std::uint8_t {
  ordinary,
  beyond,  // the jail has as many connections as it may have; the client is told so
};

enum class Turn : std::uint8_t { waits, more, over };

class Connection {
 public:
  // `client` must be non-blocking and already watched by the poller.
  Connection(std::uint64_t id, const Owner& owner, Tools& tools, Fd client, Place place, Time now);
  Connection(const Connection&) = delete;
  ~Connection();

  void note(Watched which, std::uint32_t events);
  void take(Found found, Time now);
  // Goes as far as possible without waiting.
  Turn run(Time now);
  Turn expire(Time now);
  // Called when the owner's rules have changed. A destination that they do not allow is refused, or
  // cut where it is open.
  Turn judge_again(Time now);

  Time deadline() const { return deadline_; }
  const Owner& owner() const { return owner_; }

 private:
  enum class State : std::uint8_t {
    reading,     // reads the request
    looking_up,  // waits for a look-up
    connecting,
    carrying,   // carries bytes both ways
    answering,  // sends a refusal
    parting,    // all is sent; further bytes of the client are discarded, since a reset would keep
                // it from reading the answer
    over,
  };

  State read_request(Time now);
  State admit(Time now);
  State admit_addresses(const std::vector<Address>& addresses, Time now);
  const Rule* allowing_rule() const;
  bool allows_address(const Address& address) const;
  State connect_next(Time now);
  State await_connection(Time now);
  State begin(Time now);
  Turn carry(Time now);
  State answer_client(Time now);
  Turn part();

  void say(std::string bytes);
  State refuse(Why why, std::string reason, Time now, std::string detail = {});
  void record_decision(std::string reason);
  void record_end();

  const std::uint64_t id_;
  const Owner& owner_;
  Tools& tools_;
  const Place place_;
  State state_ = State::reading;
  Time deadline_;
  Time last_connect_;  // the time by which look-up and connection together must be done
  RequestReader reader_;
  std::string asked_;
  Destination destination_;
  const Rule* rule_ = nullptr;  // the rule that allows the destination
  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  int connect_error_ = 0;
  bool connected_ = false;
  Time connected_at_{};
  std::string why_ended_;  // empty: one of the two sides ended it, or it was idle for too long
  Side client_;
  Side server_;
  Flow up_;
  Flow down_;
  std::uint64_t said_ = 0;  // bytes to the client that the proxy itself produced
};

}  // namespace jail::egress
