// One jail that the proxy serves: the end of its socket pair, its listening socket and its count of
// connections.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "egress/connection.h"
#include "jail/fd.h"

namespace jail::egress {

struct AdmittedJail {
  Owner owner;
  RuleChange change = RuleChange::never;
  Fd control;
  Fd listener = {};  // valid once it was handed over
  std::unordered_set<std::uint64_t> connections = {};
  bool backlog = false;  // more connections may wait to be accepted
};

// A message with one descriptor, received without waiting.
struct Handed {
  enum class State : std::uint8_t { nothing, message, closed };
  State state = State::nothing;
  std::size_t size = 0;  // bytes of the message
  Fd fd;
};
Handed receive_handed(int socket, std::span<char> room);

// Returns whether this is a listening TCP socket, and makes it non-blocking if so.
bool take_listener(const Fd& fd);

}  // namespace jail::egress
