#include "child/held_limits.h"

#include <sys/syscall.h>

#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// The time between two looks at the jail's memory. It is shorter the closer the jail is to its
// limit, by the rate at which a processor can touch new pages.
constexpr std::uint64_t longest_pause_ns = 20 * ns_per_ms;
constexpr std::uint64_t shortest_pause_ns = ns_per_ms / 2;
constexpr std::uint64_t touched_bytes_per_ns = 8;
constexpr std::uint64_t pause_before_walk_ns = 50 * ns_per_ms;
// A jail in which no process runs uses what it used before. Checking that costs a system call for
// each process but no look, and may wait for as long as it would take to fill the room that is
// left. Memory that comes from outside needs a look: messages to sockets that nobody reads, huge
// pages that the kernel puts together by itself.
constexpr std::uint64_t longest_pause_at_rest_ns = 100 * ns_per_ms;
constexpr std::uint64_t longest_rest_ns = 1000 * ns_per_ms;
constexpr std::uint64_t longest_rest_with_sockets_ns = 100 * ns_per_ms;

// Looks take at most a fifth of a processor, and so do walks. Only processor time counts: waiting
// for a turn costs nothing, and a jail must not be watched less because the machine is busy.
std::uint64_t rest_after(std::uint64_t cost) { return 4 * cost; }

std::uint64_t reaped_cpu_ns() {
  const rusage usage = reaped_usage();
  return (microseconds(usage.ru_utime) + microseconds(usage.ru_stime)) * 1000;
}

// The number of processors that the jail may run on, at most as many as `mask` has room for.
std::uint64_t processors() {
  std::uint64_t mask[16] = {};
  const long bytes = raw::call(SYS_sched_getaffinity, 0, sizeof mask, raw::address(mask));
  std::uint64_t count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof mask[0]); ++i) {
    for (std::uint64_t left = mask[i]; left != 0; left &= left - 1) ++count;
  }
  return larger(count, 1);
}

std::uint64_t pause_at(std::uint64_t memory, const wire::Order& order) {
  const std::uint64_t room = beyond(order.memory_bytes, memory);
  return larger(smaller(room / touched_bytes_per_ns, longest_pause_ns), shortest_pause_ns);
}

}  // namespace

rusage reaped_usage() {
  rusage usage{};
  raw::call(SYS_getrusage, RUSAGE_CHILDREN, raw::address(&usage));
  return usage;
}

// Most programs end before the first look, which then takes no turn from them. A jail that begins
// is taken to have filled half of its room.
void HeldLimits::begin(std::uint64_t now_ns, const wire::Order& order) {
  next_look_ns_ = now_ns + pause_at(order.memory_bytes / 2, order);
  processors_ = processors();
}

// A guest chooses what a look costs, and with it how long init rests afterwards. A glance shows
// what the guest fills meanwhile.
HeldLimits::Glance HeldLimits::glance(const wire::Order& order) {
  const std::uint64_t began = now_ns();
  const std::uint64_t before = own_cpu_ns();
  const std::uint64_t reaped = reaped_cpu_ns();
  const WatchedUsage usage = watch_.glance(order.memory_bytes, reaped);
  cpu_ns_ = larger(cpu_ns_, usage.cpu_ns + reaped);
  const std::uint64_t rest = rest_after(own_cpu_ns() - before);
  const std::uint64_t pause = pause_at(usage.memory.least, order);
  next_look_ns_ = smaller(next_memory_ns_, larger(began + pause, now_ns() + rest));
  if (usage.memory.least <= order.memory_bytes) return Glance::well;
  if (usage.is_rough) return Glance::unclear;
  note_peak(larger(order.memory_bytes, smaller(usage.memory.least, usage.memory.pages)));
  return Glance::beyond;
}

wire::Cause HeldLimits::cause_by_cpu(const wire::Order& order) const {
  return cpu_ns_ > order.cpu_ns ? wire::cause_cpu : wire::cause_none;
}

void HeldLimits::look_at_processor_time() {
  const std::uint64_t reaped = reaped_cpu_ns();
  cpu_ns_ = larger(cpu_ns_, watch_.processor_time(reaped) + reaped);
}

std::uint64_t HeldLimits::exact_cpu_ns() const { return watch_.clock_time() + reaped_cpu_ns(); }

void HeldLimits::plan_looks_at_rest(std::uint64_t memory, const wire::Order& order) {
  // All threads may wake at once, each on a processor.
  const std::uint64_t writers = smaller(processors_, larger(watch_.threads(), 1));
  const std::uint64_t room = beyond(order.memory_bytes, memory);
  pause_at_rest_ns_ =
      larger(smaller(room / touched_bytes_per_ns / writers, longest_pause_at_rest_ns),
             pause_at(memory, order));
  rest_until_ns_ =
      now_ns() + (watch_.has_sockets() ? longest_rest_with_sockets_ns : longest_rest_ns);
}

wire::Cause HeldLimits::look(const wire::Order& order) {
  if (now_ns() < rest_until_ns_ && watch_.is_still()) {
    next_look_ns_ = now_ns() + pause_at_rest_ns_;
    return wire::cause_none;
  }
  rest_until_ns_ = 0;
  if (now_ns() < next_memory_ns_) {
    const Glance seen = glance(order);
    if (seen == Glance::beyond) return wire::cause_memory;
    if (seen == Glance::well) return cause_by_cpu(order);
  }
  const std::uint64_t began = now_ns();
  const std::uint64_t before = own_cpu_ns();
  const WatchedUsage usage = measure(order);
  const std::uint64_t rest = rest_after(own_cpu_ns() - before);
  const std::uint64_t memory = settle(usage.memory, order);
  if (memory > order.memory_bytes) return wire::cause_memory;
  if (cause_by_cpu(order) != wire::cause_none) return wire::cause_cpu;
  // The guest has filled more of its room while init looked.
  const std::uint64_t next = larger(began + pause_at(memory, order), now_ns() + shortest_pause_ns);
  next_memory_ns_ = larger(next, now_ns() + rest);
  next_look_ns_ = next;
  if (usage.memory.most <= order.memory_bytes) plan_looks_at_rest(memory, order);
  return wire::cause_none;
}

WatchedUsage HeldLimits::measure(const wire::Order& order) {
  const std::uint64_t reaped = reaped_cpu_ns();
  const WatchedUsage usage = watch_.measure(order.memory_bytes, reaped);
  cpu_ns_ = larger(cpu_ns_, usage.cpu_ns + reaped);
  return usage;
}

// Chooses the figure that counts, between the least and the most.
std::uint64_t HeldLimits::settle(const WatchedMemory& memory, const wire::Order& order) {
  if (memory.most <= order.memory_bytes) {
    note_peak(memory.pages);
    return memory.most;
  }
  std::uint64_t counted = memory.least;
  if (counted <= order.memory_bytes) {
    plan_first_walk(memory, order);
    if (now_ns() >= next_walk_ns_) counted = walk(order);
  }
  // The kernel's own memory is rounded up, so it raises the peak no further than to the limit.
  note_peak(counted <= order.memory_bytes
                ? counted
                : larger(order.memory_bytes, smaller(counted, memory.pages)));
  return counted;
}

// Where the doubt is small, a jail that fills memory fast exceeds the limit before a walk would
// end: it is given the time for that.
void HeldLimits::plan_first_walk(const WatchedMemory& memory, const wire::Order& order) {
  const bool is_small = memory.most - memory.least < order.memory_bytes / 2;
  if (is_small && next_walk_ns_ == 0) next_walk_ns_ = now_ns() + pause_before_walk_ns;
}

std::uint64_t HeldLimits::walk(const wire::Order& order) {
  const std::uint64_t before = own_cpu_ns();
  std::uint64_t memory = watch_.walk(order.memory_bytes);
  if (memory > order.memory_bytes) {
    // An excess counts only when it is seen a second time.
    const WatchedMemory again = measure(order).memory;
    memory = again.least > order.memory_bytes ? again.least : watch_.walk(order.memory_bytes);
  }
  next_walk_ns_ = now_ns() + rest_after(own_cpu_ns() - before);
  return memory;
}

void HeldLimits::note_peak(std::uint64_t memory) { memory_peak_ = larger(memory_peak_, memory); }

}  // namespace jail::child
