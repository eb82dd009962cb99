// The kernel's memory for the sockets of init's network namespace: those of every process, those in
// flight, and connections that nobody has accepted.
#pragma once

#include <cstdint>

namespace jail::child {

class SocketMemory {
 public:
  // Returns bytes, rounded up where the kernel does not tell them exactly. `proc` is a proc mount
  // of init's own. A namespace with few sockets costs reading one file. Otherwise the kernel is
  // asked about all sockets, which takes at most a fifth of a processor: in between the last answer
  // is returned.
  std::uint64_t measure(int proc);

 private:
  static std::uint64_t ask_all(int proc, const char* sockstat, std::uint64_t sockets);

  std::uint64_t last_ = 0;
  std::uint64_t next_ns_ = 0;
};

}  // namespace jail::child
