// What the kernel keeps for the sockets of init's network namespace: of every process, of
// descriptors in flight, and of connections that nobody has accepted.
#pragma once

#include <cstdint>

namespace jail::child {

class SocketMemory {
 public:
  // In bytes; rounded up where the kernel does not tell it exactly. `proc` is a proc mount of
  // init's own. A namespace with few sockets costs one file to read. Otherwise all are asked, which
  // takes a fifth of a processor at the most: in between the answer is the last one.
  std::uint64_t measure(int proc);

 private:
  static std::uint64_t ask_all(int proc, const char* sockstat, std::uint64_t sockets);

  std::uint64_t last_ = 0;
  std::uint64_t next_ns_ = 0;
};

}  // namespace jail::child
