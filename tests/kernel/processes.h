// The host's view of jails: their processes and descriptors, and what is left of them.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/time_scale.h"

namespace kernel_ring {

// The first is for this process, the second for another one that the kernel lets this process
// inspect.
std::size_t open_descriptors();
std::optional<std::size_t> open_descriptors_of(pid_t pid);

std::set<pid_t> children_of(pid_t parent);
std::set<pid_t> descendants_of(pid_t ancestor);
bool is_gone(pid_t pid);
std::string name_of(pid_t pid);  // as /proc/PID/comm has it

// Returns the interpreters of templates whose launcher is a child of `ancestor`: the zygotes, and
// the intermediate processes that they have made to join a jail.
std::vector<pid_t> interpreters_of_hosts_below(pid_t ancestor);

// Returns the zygote of the only template there is, when it makes nothing; or -1.
pid_t zygote_below(pid_t ancestor);

// Returns the process behind a pidfd of this process; -1 when it has ended.
pid_t process_of(int pidfd);

// Returns whether `condition()` becomes true within five seconds, on a slow host within up to
// twenty: programs that are to be ended sleep for thirty.
template <class Condition>
bool soon(Condition condition) {
  for (int tries = std::min(scaled_ms(5000), 20'000); tries > 0; --tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace kernel_ring
