// The limits on memory and processor time that init holds where no cgroup does: the times of its
// looks, and the consequences of what it sees.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "child/watch.h"
#include "child/wire.h"

namespace jail::child {

// The usage of the processes that init has reaped, with that of the children that those had waited
// for.
rusage reaped_usage();

class HeldLimits {
 public:
  // The caller owns the watch, which must live as long.
  explicit HeldLimits(Watch& watch) : watch_(watch) {}

  // Must be called when the program starts, with its order; the time is that of CLOCK_MONOTONIC.
  void begin(std::uint64_t now_ns, const wire::Order& order);

  // The time at which look() is to be called.
  std::uint64_t next_look_ns() const { return next_look_ns_; }

  // Returns which limit of the order is exceeded: wire::cause_memory, cause_cpu, or cause_none.
  wire::Cause look(const wire::Order& order);

  // Has the next look come at once, and measure all there is: the limit has changed.
  void look_at_once() { next_look_ns_ = next_memory_ns_ = next_walk_ns_ = rest_until_ns_ = 0; }

  // Looks only at the processor time.
  void look_at_processor_time();
  // The processor time of the living processes and of all that init has reaped, by their clocks.
  std::uint64_t exact_cpu_ns() const;

  // The peak of the memory of all processes together, in bytes, and the processor time that they
  // had used at the last look.
  std::uint64_t memory_peak() const { return memory_peak_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }

 private:
  WatchedUsage measure(const wire::Order& order);
  enum class Glance : std::uint8_t { well, beyond, unclear };
  Glance glance(const wire::Order& order);
  wire::Cause cause_by_cpu(const wire::Order& order) const;
  std::uint64_t settle(const WatchedMemory& memory, const wire::Order& order);
  void plan_first_walk(const WatchedMemory& memory, const wire::Order& order);
  std::uint64_t walk(const wire::Order& order);
  void note_peak(std::uint64_t memory);
  void plan_looks_at_rest(std::uint64_t memory, const wire::Order& order);

  Watch& watch_;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t next_memory_ns_ = 0;
  std::uint64_t next_walk_ns_ = 0;
  std::uint64_t rest_until_ns_ = 0;  // a process that runs is noticed until then; 0: nothing is at
                                     // rest
  std::uint64_t pause_at_rest_ns_ = 0;
  std::uint64_t processors_ = 1;
  std::uint64_t memory_peak_ = 0;
  std::uint64_t cpu_ns_ = 0;
};

}  // namespace jail::child
