// This part of Watch counts what the kernel keeps behind descriptors and mappings.
#include "child/arithmetic.h"
#include "child/clocks.h"
#include "child/descriptors_in_flight.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"
#include "child/watch_process.h"

namespace jail::child {

namespace {

// For a place for a descriptor, beyond those that every process has: half of a pipe of two pages.
constexpr std::uint64_t bytes_of_a_descriptor = 4u << 10;
constexpr std::uint64_t free_places = 64;
// For an entry of an epoll instance and its places in the queues of what it watches (struct epitem,
// struct eppoll_entry): a pipe that is open for both directions has two.
constexpr std::uint64_t bytes_of_a_watch = 272;
// An instance that watches more than this, and than every descriptor of its process several times,
// watches files under numbers that they do not have any more.
constexpr std::uint64_t usual_watches = 4096;
constexpr std::uint64_t beyond_every_limit = std::uint64_t{1} << 50;
// An open file of /proc keeps a buffer as long as its longest line or, where it is one piece of
// text, as long as all of it: fdinfo has a line for each lock on a file, and for each watch of an
// epoll instance. A line of maps may write each letter of a path as four, and the buffer doubles
// until the line fits.
constexpr std::uint64_t bytes_of_text = 1u << 20;
constexpr std::uint64_t bytes_of_a_name = std::uint64_t{2} * 4 * 256;

// What the kernel bounds for one user. It gives pipes that have no place among 64 MiB the smallest
// size (pipe(7), pipe-user-pages-soft). An end may be the only one that is open.
constexpr std::uint64_t bytes_of_a_pipe = 64u << 10;
constexpr std::uint64_t free_pipe_ends = 64;
constexpr std::uint64_t max_bytes_of_pipes = 64u << 20;
// Programs that send descriptors have more in flight than were found a moment before, and init's
// own messages to its owner have some. What stays in flight in a place where it is not found is
// hidden.
constexpr std::uint64_t free_in_flight = 16;
constexpr std::uint64_t patience_with_hidden_ns = 100 * ns_per_ms;

// For a moment nobody can read about a process that executes another program, or has just joined a
// jail whose user is another one. Who stays unreadable for longer counts as the most that it can
// have.
constexpr std::uint64_t patience_with_unreadable_ns = 100 * ns_per_ms;
// While descriptors and mappings are counted, sockets and files are looked at whenever this much
// processor time is spent: they can be filled fastest.
constexpr std::uint64_t counted_at_a_time_ns = 2 * ns_per_ms;
constexpr std::uint64_t usual_mappings = 2000;
// Paths through fewer files are short enough to be read.
constexpr std::uint64_t many_inodes = 1000;

}  // namespace

// A path may lead through all of them.
std::uint64_t Watch::bytes_of_a_proc_file() const {
  return bytes_of_text + inodes_ * bytes_of_a_name;
}

std::uint64_t Watch::max_watches() const {
  constexpr std::uint64_t most = 1u << 20;
  return smaller(larger(usual_watches, 4 * max_places_), most);
}

// The most that the kernel keeps for one descriptor.
std::uint64_t Watch::bytes_of_a_file() const {
  return larger(max_watches() * bytes_of_a_watch, bytes_of_a_proc_file());
}

// The most that the kernel keeps for this many places for descriptors.
std::uint64_t Watch::bytes_of_places(std::uint64_t places) const {
  return beyond(places, free_places) * bytes_of_a_descriptor + places * bytes_of_a_file();
}

// Counts what is behind the open descriptors. Returns false where they cannot be read.
bool Watch::count_descriptors(const Process& process, std::uint64_t places, bool reads_watches,
                              KnownProcesses::Counts& counts) const {
  Descriptors found;
  const Budget budget(budget_of_a_look_ns);
  const Asked asked{.watches = reads_watches, .pipes = has_own_user_};
  if (!read_descriptors(proc_, process.name().text, asked, budget, found)) {
    // A process that ends has given up its memory first, and opens nothing any more.
    ProcessStat again;
    if (read_stat(proc_, process.name().text, again) && again.mapped_bytes != 0) return false;
    counts.descriptor_bytes = 0;
    counts.in_flight = counts.pipe_ends = 0;
    return true;
  }
  counts.has_sockets = found.sockets > 0;
  counts.in_flight = found.in_flight;
  counts.pipe_ends = found.pipe_ends;
  counts.descriptor_bytes =
      beyond(places, free_places) * bytes_of_a_descriptor + found.watches * bytes_of_a_watch +
      found.proc_files * bytes_of_a_proc_file() + found.in_flight * bytes_of_a_file();
  // An open file of /proc would keep a line for each watch, which nobody could count any more once
  // the watches are gone.
  const bool is_beyond = reads_watches ? found.max_watches > max_watches() : found.epolls > 0;
  if (is_beyond) counts.descriptor_bytes = beyond_every_limit;
  return true;
}

bool Watch::count_mappings(const Process& process, std::uint64_t& out) const {
  const Budget budget(budget_of_a_look_ns);
  if (jail::child::count_mappings(proc_, process.name().text, max_mappings_, budget, out)) {
    return true;
  }
  // A path may lead through all files, and the kernel builds the line before it can refuse it.
  Mappings found;
  const bool is_read = inodes_ < many_inodes &&
                       read_mappings(proc_, process.name().text, max_mappings_, budget, found);
  out = found.count;
  return is_read;
}

// Returns whether a process that cannot be read keeps the figures it has for now. One that joins
// runs nothing of a guest, however long the host takes for it.
bool Watch::is_patient_with(const Process& process, KnownProcesses::Counts& counts) const {
  if (is_joining(process)) return true;
  const std::uint64_t now = now_ns();
  if (counts.unreadable_since_ns == 0) counts.unreadable_since_ns = now;
  return now - counts.unreadable_since_ns < patience_with_unreadable_ns;
}

// Counts what is behind the descriptors of one process.
void Watch::count_descriptors_of(const Process& process, const ProcessStat& stat,
                                 std::uint64_t memory_limit, KnownProcesses::Counts& counts) {
  Text text;
  std::uint64_t places = max_places_;
  if (read_text(proc_, joined({process.name().text, "/status"}).text, text)) {
    find_number(text.bytes, "FDSize:", places);
  }
  if (count_descriptors(process, places, !is_large(stat, memory_limit), counts)) {
    counts.unreadable_since_ns = 0;
  } else {
    if (is_patient_with(process, counts)) return;
    counts.descriptor_bytes = bytes_of_places(places);
  }
  counts.is_counted = true;
  counts.has_mappings = false;
  // Peers can send descriptors to the sockets of a process that stands still.
  counts.is_current = counts.unreadable_since_ns == 0 && !counts.has_sockets;
}

// Counts the mappings of one process, whose descriptors were counted.
void Watch::count_mappings_of(const Process& process, const ProcessStat& stat,
                              std::uint64_t memory_limit, KnownProcesses::Counts& counts) {
  if (!counts.is_counted) return;
  if (!may_read_mappings(proc_, process.name().text) && is_patient_with(process, counts)) {
    return;
  }
  const std::uint64_t before = own_cpu_ns();
  const bool is_read =
      !counts.is_dear && !is_large(stat, memory_limit) && count_mappings(process, counts.mappings);
  if (!is_read) counts.mappings = mappings_bound(stat);
  if (own_cpu_ns() - before > budget_of_a_look_ns / 2) counts.is_dear = true;
  counts.has_mappings = true;
}

// Counts the processes with numbers in this range, as far as the budget reaches and until sockets
// and files hold more than `room`. Those that stand still keep their counts.
void Watch::count_from(int first, int last, std::uint64_t memory_limit, Counted what,
                       std::uint64_t room, const Budget& budget) {
  std::uint64_t looked_ns = own_cpu_ns();
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (process.pid < first || process.pid > last || stat.has_ended()) return;
    if (budget.is_spent() || sockets_now_ + files_ > room) return;
    KnownProcesses::Counts* counts = known_.counts_of(process.pid);
    if (counts == nullptr) return;
    counted_until_ = process.pid;
    if (counts->is_current && counts->has(what)) return;
    if (what == Counted::descriptors) {
      count_descriptors_of(process, stat, memory_limit, *counts);
    } else {
      count_mappings_of(process, stat, memory_limit, *counts);
    }
    if (own_cpu_ns() - looked_ns < counted_at_a_time_ns) return;
    sockets_now_ = sockets_.measure(proc_);
    look_at_files();
    looked_ns = own_cpu_ns();
  });
}

// The count reaches the processes that it has not come to yet within a few looks. Until then they
// count as the average of the others: most have been forked by one of these.
Watch::Kept Watch::counted(std::uint64_t memory_limit, Counted what, std::uint64_t room) {
  const Budget budget(budget_of_a_look_ns);
  const int before = counted_until_;
  count_from(before + 1, last_process, memory_limit, what, room, budget);
  count_from(0, before, memory_limit, what, room, budget);
  Kept most;   // of processes that are not remembered
  Kept known;  // of processes that were counted
  std::uint64_t known_processes = 0;
  std::uint64_t other_processes = 0;
  each_process([&](const Process& process, const ProcessStat& stat) {
    if (stat.has_ended()) return;
    const KnownProcesses::Counts* counts = known_.counts_of(process.pid);
    if (counts == nullptr && !known_.has_room()) {
      most.descriptors += bytes_of_places(max_places_);
      most.mappings += mappings_bound(stat);
    } else if (counts != nullptr && counts->is_counted && counts->has(what)) {
      ++known_processes;
      known.descriptors += counts->descriptor_bytes;
      known.mappings += counts->mappings;
      known.in_flight += counts->in_flight;
      known.pipe_ends += counts->pipe_ends;
    } else {
      ++other_processes;
    }
  });
  Kept usual{.descriptors = bytes_of_text,
             .mappings = usual_mappings,
             .in_flight = 0,
             .pipe_ends = 0,
             .is_complete = true};
  if (known_processes > 0) {
    usual.descriptors = known.descriptors / known_processes;
    usual.mappings = known.mappings / known_processes;
    usual.pipe_ends = known.pipe_ends / known_processes;
  }
  return {.descriptors = most.descriptors + known.descriptors + other_processes * usual.descriptors,
          .mappings = most.mappings + known.mappings + other_processes * usual.mappings,
          .in_flight = known.in_flight,
          .pipe_ends = known.pipe_ends + other_processes * usual.pipe_ends,
          .is_complete = other_processes == 0 && most.descriptors == 0};
}

// The bytes of what the kernel bounds for each user of the host, where the jail has its own. Where
// it has not, the bound holds for all jails together.
std::uint64_t Watch::kept_for_own_user(const Kept& counted) {
  if (!has_own_user_) return 0;
  const std::uint64_t pipes =
      smaller(beyond(counted.pipe_ends, free_pipe_ends) * bytes_of_a_pipe, max_bytes_of_pipes);
  // A socket that hides others is itself in the queue of one that a process has open.
  const bool may_hide = counted.in_flight > 0 || !counted.is_complete;
  if (!may_hide || !has_more_in_flight_than(counted.in_flight + free_in_flight)) {
    hidden_since_ns_ = 0;
    return pipes;
  }
  const std::uint64_t now = now_ns();
  if (hidden_since_ns_ == 0) hidden_since_ns_ = now;
  is_still_ = false;  // the next look asks again
  return now - hidden_since_ns_ < patience_with_hidden_ns ? pipes : beyond_every_limit;
}

}  // namespace jail::child
