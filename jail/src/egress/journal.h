// Decisions on their way to the process that started the proxy. Never waits: decisions that cannot
// be sent are kept, and where there are too many the oldest are dropped and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "jail/egress.h"

namespace jail::egress {

class Journal {
 public:
  static constexpr std::size_t max_waiting = 4096;

  // `socket` is not owned. A decision's `jail` identifies the jail that it is about.
  explicit Journal(int socket) : socket_(socket) {}

  void write(std::uint64_t jail, EgressDecision decision);
  // Sends as many decisions as the socket takes.
  void flush();

 private:
  struct Entry {
    std::uint64_t jail;
    EgressDecision decision;
  };

  // Drops a decision of the jail that has the most, so that no jail pushes out those of others.
  void drop_one();
  void forget(std::uint64_t jail);

  int socket_;
  std::deque<Entry> waiting_;
  std::unordered_map<std::uint64_t, std::size_t> by_jail_;
  std::uint64_t dropped_ = 0;  // since the last decision that was sent
};

}  // namespace jail::egress
