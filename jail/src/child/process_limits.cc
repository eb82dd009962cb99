#include "child/process_limits.h"

#include <sys/resource.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/guest_start.h"
#include "child/proc_files.h"

namespace jail::child {
namespace {

// A fork may take longer than the processes had to stand still, so each attempt may take longer.
constexpr std::uint64_t longest_first_try_ns = 2'000 * ns_per_ms;
constexpr std::uint64_t longest_last_try_ns = 16'000 * ns_per_ms;

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

void ProcessLimits::lower(const wire::Order& order, const Spawned& spawned, bool has_processes) {
  const bool is_lower = is_lower_than_before(order);
  max_ = order;
  was_lowered_ = true;
  unanswered_ = order.serial;
  if (!is_lower) return;
  for (int i = 0; i < spawned.count; ++i) {
    was_starting_[i] = spawned.all[i].is_starting() || spawned.all[i].is_joining();
  }
  if (!has_processes) return;
  pass(spawned);
  needs_standstill_ = true;
  next_try_ns_ = 0;
  longest_try_ns_ = longest_first_try_ns;
}

// The limits before the first order are not known here.
bool ProcessLimits::is_lower_than_before(const wire::Order& order) const {
  return !was_lowered_ || order.processes_limit < max_.processes_limit ||
         order.file_limit < max_.file_limit || order.data_limit < max_.data_limit;
}

std::uint64_t ProcessLimits::advance(const Spawned& spawned, std::uint64_t now) {
  constexpr std::uint64_t never_ns = ~std::uint64_t{0};
  if (!needs_standstill_) return never_ns;
  if (!standstill_.is_on()) {
    if (now < next_try_ns_) return next_try_ns_;
    pass(spawned);
    standstill_.begin(now, longest_try_ns_);
    longest_try_ns_ = smaller(2 * longest_try_ns_, longest_last_try_ns);
  }
  if (now < standstill_.next_look_ns()) return standstill_.next_look_ns();
  if (!standstill_.look(now)) {
    put_off(now_ns());
    return next_try_ns_;
  }
  settle(spawned);
  if (needs_standstill_) return standstill_.next_look_ns();
  standstill_.end();
  return never_ns;
}

void ProcessLimits::settle(const Spawned& spawned) {
  if (!needs_standstill_ || standstill_.state() != Standstill::State::still) return;
  pass(spawned);
  needs_standstill_ = false;
}

// In a pause, processes that are about to execute a program do not come to it.
std::int32_t ProcessLimits::take_held(const Spawned& spawned, bool is_paused) {
  if (unanswered_ == 0 || needs_standstill_) return 0;
  for (int i = 0; i < spawned.count && !is_paused; ++i) {
    const SpawnedProcess& process = spawned.all[i];
    if (was_starting_[i] && (process.is_starting() || process.is_joining())) return 0;
  }
  const std::int32_t held = unanswered_;
  unanswered_ = 0;
  return held;
}

void ProcessLimits::note_started(const Spawned& spawned, const SpawnedProcess& process) {
  bool& was_starting = was_starting_[&process - spawned.all];
  if (!was_starting) return;
  was_starting = false;
  needs_standstill_ = true;
  longest_try_ns_ = longest_first_try_ns;
}

void ProcessLimits::pass(const Spawned& spawned) const {
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t number = 0;
  while (processes.next(name, number)) {
    const int pid = static_cast<int>(number);
    if (pid != 1 && !spawned.is_starting(pid)) lower_those_of(pid);
  }
}

// A process that is gone has none.
void ProcessLimits::lower_those_of(int pid) const {
  lower_limit_of(pid, RLIMIT_NPROC, max_.processes_limit, SoftLimit::stays);
  lower_limit_of(pid, RLIMIT_FSIZE, max_.file_limit, SoftLimit::stays);
  lower_limit_of(pid, RLIMIT_DATA, max_.data_limit, SoftLimit::stays);
}

}  // namespace jail::child
