#include "child/process_limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child/clocks.h"
#include "child/guest_start.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

constexpr int looks = 3;
constexpr std::uint64_t pause_between_looks_ns = 100 * ns_per_ms;
// Processes that fork and end without pause may stay ahead of init for so many passes.
constexpr int max_passes = 16;

}  // namespace

void lower_limits(const wire::PlanHeader& plan, char* base, const wire::Order& order) {
  lower_limit(base, plan.data_limit_offset, order.data_limit);
  lower_limit(base, plan.cpu_limit_offset, order.cpu_limit_s);
  lower_limit(base, plan.processes_limit_offset, order.processes_limit);
  lower_limit(base, plan.file_limit_offset, order.file_limit);
}

bool Spawned::is_starting(int pid) const {
  for (int i = 0; i < count; ++i) {
    if (all[i].is_starting() && all[i].is(pid)) return true;
  }
  return false;
}

void ProcessLimits::lower(const wire::Order& order, const Spawned& spawned, bool are_still,
                          std::uint64_t now) {
  max_ = order;
  was_lowered_ = true;
  looks_left_ = looks;
  look(spawned, are_still, now);
}

void ProcessLimits::note_started(std::uint64_t now) {
  if (!was_lowered_) return;
  looks_left_ = looks;
  next_look_ns_ = now;
}

void ProcessLimits::look(const Spawned& spawned, bool are_still, std::uint64_t now) {
  bool have_all = false;
  for (int i = 0; i < max_passes && !have_all; ++i) have_all = pass(spawned);
  // The kernel completes no fork of a process that has a signal pending, so after this one every
  // process that there is has been listed.
  if (!have_all) {
    raw::call(SYS_kill, -1, SIGSTOP);
    pass(spawned);
    if (!are_still) raw::call(SYS_kill, -1, SIGCONT);
  }
  next_look_ns_ = --looks_left_ > 0 ? now + pause_between_looks_ns : never_ns;
}

// Returns whether every process had the limits already.
bool ProcessLimits::pass(const Spawned& spawned) const {
  bool have_all = true;
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t number = 0;
  while (processes.next(name, number)) {
    const int pid = static_cast<int>(number);
    if (pid != 1 && !spawned.is_starting(pid) && lower_those_of(pid)) have_all = false;
  }
  return have_all;
}

// Returns whether one of them was higher. A process that is gone has none.
bool ProcessLimits::lower_those_of(int pid) const {
  const struct {
    int resource;
    std::uint64_t most;
  } limits[] = {{RLIMIT_NPROC, max_.processes_limit},
                {RLIMIT_FSIZE, max_.file_limit},
                {RLIMIT_DATA, max_.data_limit}};
  bool was_higher = false;
  for (const auto& limit : limits) {
    std::uint64_t pair[2];  // soft and hard
    if (raw::call(SYS_prlimit64, pid, limit.resource, 0, raw::address(pair)) != 0) continue;
    if (pair[1] <= limit.most) continue;
    pair[1] = limit.most;
    if (pair[0] > pair[1]) pair[0] = pair[1];
    if (raw::call(SYS_prlimit64, pid, limit.resource, raw::address(pair), 0) == 0) {
      was_higher = true;
    }
  }
  return was_higher;
}

}  // namespace jail::child
