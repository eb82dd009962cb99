// Children that a daemon starts beside jails: programs of its own, from any of its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kernel_ring {

enum class StartedBy : std::uint8_t { posix_spawn, fork_and_exec };

struct OwnChild {
  pid_t pid = -1;      // not waited for: the caller or its signal handler has to do that
  std::string output;  // of both streams, to their end
};

// Runs `program` with /dev/null as its input and returns when all holders have closed its output.
OwnChild run_own_child(StartedBy by, const std::vector<std::string>& program);

// Returns the descriptors that a child finds when it begins, as "0 1 2", or what `ls` printed where
// that cannot be parsed.
std::string descriptors_of_own_child(OwnChild& child);
inline const std::vector<std::string> list_own_descriptors = {"/bin/ls", "-ln", "/proc/self/fd"};

}  // namespace kernel_ring
