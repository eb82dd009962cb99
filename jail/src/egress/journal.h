// Decisions on their way to who started the proxy. Never waits: what does not go out is kept, and
// of too many the oldest are dropped and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "jail/egress.h"

namespace jail::egress {

class Journal {
 public:
  static constexpr std::size_t max_waiting = 4096;

  // `socket` is not owned. `jail` tells apart whose decision it is.
  explicit Journal(int socket) : socket_(socket) {}

  void write(std::uint64_t jail, EgressDecision decision);
  // Sends as many as the socket takes.
  void flush();

 private:
  struct Entry {
    std::uint64_t jail;
    EgressDecision decision;
  };

  // One of the jail that has the most, so that no jail pushes out what others did.
  void drop_one();
  void forget(std::uint64_t jail);

  int socket_;
  std::deque<Entry> waiting_;
  std::unordered_map<std::uint64_t, std::size_t> by_jail_;
  std::uint64_t dropped_ = 0;  // since the last that went out
};

}  // namespace jail::egress
