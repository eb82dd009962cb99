// The other side of a pool's conversation with its launcher and its hosts: takes their orders as
// the launcher does, and sends the answers that an input specifies.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "jail/fd.h"
#include "jail/pool.h"
#include "plan/plan.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {

// A template whose jails nobody makes, and a host with all features.
jail::TemplateSpec template_spec(jail::Warmth warmth);
jail::HostFacts host_facts();

// The descriptors that came with one order for a jail or for a template's host.
struct Order {
  jail::Fd control;  // for its reports
  jail::Fd words;    // its standard output
  jail::Fd serve;    // for a host: the socket on which it gets orders
};

class FalseLauncher {
 public:
  FalseLauncher();

  // Returns the end to which orders are sent; must be called once.
  jail::Fd take_socket() { return std::move(others_); }
  const jail::Fd& socket() const { return others_; }

  // Takes all pending orders, here and at the hosts that were ordered before.
  void take_orders(std::vector<Order>& orders);

  // Reads any datagram in the way of the launcher.
  static void take_order(int socket, std::vector<Order>& orders);

  void leave() { own_.reset(); }

 private:
  jail::Fd own_;
  jail::Fd others_;
};

// Sends one datagram with descriptors. Never waits: where there is no room the datagram is lost.
class Frames {
 public:
  Frames();

  // `type` is one of the words below; `from` says how many descriptors come along and what stands
  // in it. Returns false where `type` is another letter.
  //   L launched  R ready  F failed  E ended  X whatever the input says
  bool send(char type, int socket, Choices& from);
  // Sends `count` descriptors, at most as many as a datagram takes.
  void send_bytes(int socket, std::string_view bytes, std::size_t count) const;

 private:
  std::array<jail::Fd, 3> lent_;
};

}  // namespace fuzz
