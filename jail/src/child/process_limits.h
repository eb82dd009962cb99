// The kernel's limits of each process of a living jail, and how they follow those of the jail when
// its owner changes them.
#pragma once

#include <cstdint>

#include "child/spawned_process.h"
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
class ProcessLimits {
 public:
  // `proc` is init's own proc mount, a descriptor that the caller keeps.
  explicit ProcessLimits(int proc) : proc_(proc) {}

  // From now on these limits are those of all processes, where theirs are higher. `are_still`: no
  // process runs.
  void lower(const wire::Order& order, const Spawned& spawned, bool are_still, std::uint64_t now);

  // The time at which look_if_due() is to be called: a fork that had begun before has the earlier
  // limits, and is not seen until it is complete.
  std::uint64_t next_look_ns() const { return next_look_ns_; }
  // Must be called only while processes run.
  void look_if_due(const Spawned& spawned, std::uint64_t now) {
    if (now >= next_look_ns_) look(spawned, false, now);
  }

  // To be called when a process has executed its program, perhaps under the earlier limits.
  void note_started(std::uint64_t now);

 private:
  static constexpr std::uint64_t never_ns = ~std::uint64_t{0};

  void look(const Spawned& spawned, bool are_still, std::uint64_t now);
  bool pass(const Spawned& spawned) const;
  bool lower_those_of(int pid) const;

  int proc_;
  bool was_lowered_ = false;
  int looks_left_ = 0;
  std::uint64_t next_look_ns_ = never_ns;
  wire::Order max_{};
};

}  // namespace jail::child
