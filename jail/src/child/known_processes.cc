#include "child/known_processes.h"

#include "child/arithmetic.h"
#include "child/clocks.h"

namespace jail::child {
namespace {

// The zygote, its fork that enters the jail, and the fork of that.
constexpr std::uint64_t generation_of_a_joined_fork = 3;

}  // namespace

void KnownProcesses::begin() {
  for (std::size_t i = 0; i < count_; ++i) seen_[i].is_there = false;
  inherited_ = 0;
  has_moved_ = false;
}

void KnownProcesses::see(int pid, const ProcessStat& stat, std::uint64_t clock_ns, Origin origin) {
  Seen* process = find(pid);
  has_moved_ = has_moved_ || process == nullptr || process->clock_ns != clock_ns;
  if (process == nullptr) {
    inherited_ += stat.children_ticks;
    const std::uint64_t generation = generation_of(origin, stat.parent);
    if (generation > generations_) generations_ = generation;
    if (count_ == capacity) return;
    // The parent is looked up before there is a place for this process, which has no figures yet.
    const Seen* parent = find(stat.parent);
    process = &seen_[count_++];
    process->generation = generation;
    process->is_sized = false;
    process->counts = parent == nullptr ? Counts{} : parent->counts;
    process->counts.is_current = false;
  } else if (stat.children_ticks >= process->children_ticks) {
    inherited_ += stat.children_ticks - process->children_ticks;
  }
  // It may have been met before anybody knew.
  if (origin != Origin::of_a_guest) process->generation = generation_of(origin, stat.parent);
  if (process->clock_ns != clock_ns) process->counts.is_current = false;
  process->pid = pid;
  process->is_there = true;
  process->clock_ns = clock_ns;
  process->own_ticks = stat.own_ticks;
  process->children_ticks = stat.children_ticks;
}

void KnownProcesses::end(std::uint64_t reaped) {
  inherited_ += reaped > reaped_ ? reaped - reaped_ : 0;
  reaped_ = reaped;
  std::uint64_t gone = 0;
  if (count_ < capacity) generations_ = 0;
  for (std::size_t i = 0; i < count_;) {
    if (seen_[i].is_there) {
      if (seen_[i].generation > generations_) generations_ = seen_[i].generation;
      ++i;
    } else {
      has_moved_ = true;
      gone += seen_[i].own_ticks + seen_[i].children_ticks;
      seen_[i] = seen_[--count_];
    }
  }
  // A parent that was looked at before it waited shows its children's time only at the next look.
  const std::uint64_t explained = inherited_ > gone ? inherited_ - gone : 0;
  lost_ += missing_ > explained ? missing_ - explained : 0;
  missing_ = gone > inherited_ ? gone - inherited_ : 0;
}

bool KnownProcesses::none_has_run() const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (cpu_ns_of(seen_[i].pid, clock_sum) != seen_[i].clock_ns) return false;
  }
  return true;
}

std::uint64_t KnownProcesses::own_memory(int pid, std::uint64_t anonymous) {
  Seen* process = find(pid);
  if (process == nullptr) return has_room() ? 0 : anonymous;
  if (!process->is_sized) {
    process->own = 0;
  } else if (anonymous >= process->anonymous) {
    process->own += anonymous - process->anonymous;
  } else {
    process->own = beyond(process->own, process->anonymous - anonymous);
  }
  process->anonymous = anonymous;
  process->is_sized = true;
  return process->own;
}

KnownProcesses::Counts* KnownProcesses::counts_of(int pid) {
  Seen* process = find(pid);
  return process == nullptr ? nullptr : &process->counts;
}

void KnownProcesses::note_own_memory(int pid, std::uint64_t own) {
  if (Seen* process = find(pid); process != nullptr && process->is_sized) process->own = own;
}

KnownProcesses::Seen* KnownProcesses::find(int pid) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (seen_[i].pid == pid) return &seen_[i];
  }
  return nullptr;
}

// An orphan may descend from any known process.
std::uint64_t KnownProcesses::generation_of(Origin origin, int parent) {
  if (origin == Origin::executed) return 1;
  if (origin == Origin::of_a_zygote) return generation_of_a_joined_fork;
  const Seen* known = parent > 1 ? find(parent) : nullptr;
  return (known != nullptr ? known->generation : generations_) + 1;
}

}  // namespace jail::child
