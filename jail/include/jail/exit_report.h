// How a guest ended, as the kernel and the clock saw it. Never derived from what the guest wrote.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace jail {

// Why the program is no longer running.
enum class Ended : std::uint8_t {
  exited,         // exit_code is its status
  signaled,       // died of `signal`, which nobody outside sent
  timed_out,      // the wall deadline passed or the CPU time is used up
  out_of_memory,  // killed because the jail reached its memory limit
  violation,      // died of SIGSYS: the seccomp policy killed it
  killed,         // killed from outside, by nobody of this library
  cancelled,      // the owner asked for it
};

// What holds a limit: the part that notices if the guest exceeds it.
enum class Enforcer : std::uint8_t { none, rlimit, watchdog, cgroup };

// What holds each limit of a jail.
struct Enforcement {
  Enforcer memory = Enforcer::none;
  Enforcer processes = Enforcer::none;
  Enforcer cpu = Enforcer::none;
};

// What all processes of the jail used together.
struct Usage {
  std::chrono::microseconds cpu_user{0};
  std::chrono::microseconds cpu_system{0};
  // The largest amount that was seen at any time, and at least that of the largest process that has
  // ended, with the files that it had mapped.
  std::uint64_t memory_peak_bytes = 0;
  // How many processes held the memory when it exceeded its limit. 0 where it never did, and where
  // a cgroup holds the limit, since the kernel does not tell.
  std::uint32_t processes_at_memory_limit = 0;
};

// How long each part of the jail's life took.
struct Phases {
  std::chrono::microseconds set_up{0};   // launch() to a jail that is ready to start
  std::chrono::microseconds started{0};  // start() to the guest's execve
  std::chrono::microseconds ran{0};      // execve to the guest's end
  std::chrono::microseconds ended{0};    // the guest's end to the death of its last process
};

// The first cause wins: a guest that is killed at its deadline is timed_out even if it would have
// exited a moment later.
struct ExitReport {
  Ended ended = Ended::killed;
  int exit_code = -1;  // only with Ended::exited
  int signal = 0;      // with signaled and violation; SIGKILL where the jail was killed
  Usage usage{};
  Phases phases{};
  Enforcement enforcement{};
};

// The name of the value, such as "timed out".
std::string_view to_string(Ended ended) noexcept;
// The name of the value, such as "cgroup".
std::string_view to_string(Enforcer enforcer) noexcept;

}  // namespace jail
