// The proxy's event loop: it admits jails, accepts connections and gives each its turn. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "egress/admitted_jail.h"
#include "egress/connection.h"
#include "egress/deadlines.h"
#include "egress/journal.h"
#include "egress/poller.h"
#include "egress/resolver.h"
#include "egress/wire.h"

namespace jail::egress {

class Proxy {
 public:
  // `control` brings admissions and takes decisions; it is not owned. `names` leads to the process
  // that looks names up.
  Proxy(int control, Fd names, Settings settings);

  // Runs until nobody holds the other end of `control`. Returns false where it could not begin, or
  // where nobody looks up names any more.
  bool run();

 private:
  enum class Control : std::uint8_t { open, closed, no_names };

  void dispatch(const epoll_event& event);
  void read_control();
  void admit(const Admission& admission, Fd control);
  void read_jail(std::uint64_t id);
  bool take_listener_of(AdmittedJail& jail, Fd listener);
  bool change_rules(AdmittedJail& jail, std::string_view datagram);
  void accept_some(AdmittedJail& jail);
  void add_connection(AdmittedJail& jail, Fd client);
  void take_answers();
  void make_ready(std::uint64_t id);
  void run_ready();
  void run_due();
  // Visits what has the id: a jail that may have more to accept, or a connection, for which `turn`
  // is called.
  void visit(std::uint64_t id, Turn (Connection::*turn)(Time), Time now);
  void settle(std::uint64_t id, Connection& connection, Turn turn);
  void end_connection(std::uint64_t id);
  void end_jail(std::uint64_t id);

  Settings settings_;
  int control_;
  Control control_state_ = Control::open;
  std::uint64_t last_id_ = 0;  // of jails and connections alike
  std::vector<char> room_;
  Poller poller_;
  Resolver resolver_;
  Journal journal_;
  Deadlines deadlines_;
  Tools tools_;
  // Declared before the connections, which refer to their owner when they are destroyed.
  std::unordered_map<std::uint64_t, std::unique_ptr<AdmittedJail>> jails_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::vector<std::uint64_t> ready_;  // in the order of their turns
  std::unordered_set<std::uint64_t> is_ready_;
};

}  // namespace jail::egress
