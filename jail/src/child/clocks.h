// The kernel's clocks, by raw system calls.
#pragma once

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <cstdint>

#include "child/raw_syscall.h"

namespace jail::child {

inline constexpr std::uint64_t ns_per_ms = 1'000'000;

inline std::uint64_t read_clock(clockid_t clock) {
  timespec t{};
  raw::call(SYS_clock_gettime, clock, raw::address(&t));
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

// Clocks of another process's time, by the numbers of clock_getcpuclockid(3): the first two as
// timer interrupts found it, the sum to the nanosecond.
enum ProcessClock : long { clock_prof = 0, clock_user = 1, clock_sum = 2 };

inline std::uint64_t cpu_ns_of(long pid, ProcessClock clock) {
  return read_clock(
      static_cast<clockid_t>(static_cast<long>(~static_cast<unsigned long>(pid) << 3) | clock));
}

inline std::uint64_t own_cpu_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

// The time that init may spend on something whose cost a guest chooses: processor time, or time by
// the clock.
class Budget {
 public:
  using Clock = std::uint64_t (*)();
  explicit Budget(std::uint64_t ns, Clock clock = own_cpu_ns)
      : clock_(clock), until_ns_(clock() + ns) {}
  bool is_spent() const { return clock_() > until_ns_; }

 private:
  Clock clock_;
  std::uint64_t until_ns_;
};

inline std::uint64_t microseconds(const timeval& t) {
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000u + static_cast<std::uint64_t>(t.tv_usec);
}

}  // namespace jail::child
