// The kernel's limits of each process of a living jail, and how they follow those of the jail when
// its owner changes them.
#pragma once

#include <cstdint>

#include "child/clocks.h"
#include "child/spawned_process.h"
#include "child/standstill.h"
#include "child/watch.h"
#include "child/wire.h"

namespace jail::child {

// Lowers the limits in the plan, which are those of the next process of a living jail, to the
// owner's.
void lower_limits(const wire::PlanHeader& plan, char* base, const wire::Order& order);

// The owner's processes. Those that are about to execute a program set limits of their own until
// then, and could not set any that are higher than those that they have.
struct Spawned {
  const SpawnedProcess* all;
  int count;

  bool is_starting(int pid) const;
};

// Lowers limits of processes that run. To raise one takes a privilege on the host, which neither
// init nor a guest has: a limit that was raised is that of the processes that start later.
//
// A fork copies the limits first and is listed in /proc only when it is complete, which takes long
// where it copies much memory. So no look at the processes that run finds all that may have the
// earlier limits; one at processes that stand still does, since nobody that does is inside fork(2).
class ProcessLimits {
 public:
  // `proc` is init's own proc mount, a descriptor that the caller keeps.
  ProcessLimits(int proc, Standstill& standstill) : proc_(proc), standstill_(standstill) {}

  // From now on these limits are those of all processes, where theirs are higher. Without
  // `has_processes` there is none.
  void lower(const wire::Order& order, const Spawned& spawned, bool has_processes);

  // Makes all processes stand still for as long as it takes to lower the limits of each, where that
  // is to be done. Must be called only while the owner has not paused them. Returns the time at
  // which it is to be called again.
  std::uint64_t advance(const Spawned& spawned, std::uint64_t now);
  // Does what is to be done where the owner has had all of them stand still.
  void settle(const Spawned& spawned);
  // They resist to stand still.
  void put_off(std::uint64_t now) { next_try_ns_ = now + pause_between_tries_ns; }
  bool needs_standstill() const { return needs_standstill_; }

  // Returns the number of the order whose limits are those of every process by now, once, or 0.
  std::int32_t take_held(const Spawned& spawned, bool is_paused);

  // To be called when a process has executed its program, perhaps under the earlier limits.
  void note_started(const Spawned& spawned, const SpawnedProcess& process);

 private:
  static constexpr std::uint64_t pause_between_tries_ns = 500 * ns_per_ms;

  bool is_lower_than_before(const wire::Order& order) const;
  void pass(const Spawned& spawned) const;
  void lower_those_of(int pid) const;

  int proc_;
  Standstill& standstill_;
  bool was_lowered_ = false;
  bool needs_standstill_ = false;
  std::uint64_t next_try_ns_ = 0;
  std::uint64_t longest_try_ns_ = 0;
  std::int32_t unanswered_ = 0;
  // The places of processes that were about to execute a program when limits were lowered.
  bool was_starting_[Watch::max_starting] = {};
  wire::Order max_{};
};

}  // namespace jail::child
