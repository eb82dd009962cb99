// The other side of what a pool says to its launcher and its hosts: takes their orders as the
// launcher does, and answers whatever an input says.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jail/fd.h"
#include "jail/pool.h"
#include "plan/plan.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {

// A template whose jails nobody makes, and a host that has everything.
jail::TemplateSpec template_spec(jail::Warmth warmth);
jail::HostFacts host_facts();

// What came along with one order for a jail or for a template's host.
struct Order {
  jail::Fd control;  // its reports go here
  jail::Fd words;    // its standard output
  jail::Fd serve;    // of a host: where it gets orders
};

class FalseLauncher {
 public:
  FalseLauncher();

  // The end that orders are sent to; once.
  jail::Fd take_socket() { return std::move(others_); }
  const jail::Fd& socket() const { return others_; }

  // What was asked for and not yet taken note of, here and at the hosts that were ordered before.
  void take_orders(std::vector<Order>& orders);

  // Whatever stands in a datagram: as the launcher reads it.
  static void take_order(int socket, std::vector<Order>& orders);

  void leave() { own_.reset(); }

 private:
  jail::Fd own_;
  jail::Fd others_;
};

// One datagram with descriptors. Never waits: where there is no room it is lost.
class Frames {
 public:
  Frames();

  // `type` is one of the words below; `from` says how many descriptors come along and what stands
  // in it. False where it is none of these.
  //   L launched  R ready  F failed  E ended  X whatever the input says
  bool send(char type, int socket, Choices& from);
  // As many descriptors as `count` says, up to what a datagram takes.
  void send_bytes(int socket, std::string_view bytes, std::size_t count) const;

 private:
  std::array<jail::Fd, 3> lent_;
};

}  // namespace fuzz
