// This part of Watch counts what no file of /proc shows reliably, from when it is made: anonymous
// memory that processes share, and epoll watches.
#include "child/arithmetic.h"
#include "child/proc_files.h"
#include "child/watch.h"

namespace jail::child {

namespace {

// Shared memory of more than this part of the limit is worth checking whether it is still mapped.
constexpr std::uint64_t worth_a_look = 16;

// For an entry of an epoll instance and its place in a queue (struct epitem, struct eppoll_entry),
// rounded up from the sizes of Linux 6.1 to 6.18.
constexpr std::uint64_t bytes_of_a_watch = 224;
// The kernel makes text of all watches before the first byte can be read.
constexpr std::uint64_t max_recounted = 1u << 18;

}  // namespace

// True only where nothing of the jail can run meanwhile: the jail has no thread but this one, which
// waits for init. 0 stands for no thread at all.
//
// The look is made twice: a fork with a smaller number than its parent, made during the first look,
// is met by the second one.
bool Watch::nobody_runs_beside(int thread) const {
  for (int look = 0; look < 2; ++look) {
    NumberedEntries processes(proc_);
    const char* name = nullptr;
    std::uint64_t pid = 0;
    while (processes.next(name, pid)) {
      ProcessStat stat;
      if (pid <= 1 || !read_stat(proc_, name, stat)) continue;
      const bool is_own = pid == static_cast<std::uint64_t>(thread);
      if (stat.threads > 1 || (!is_own && !stat.has_ended())) return false;
    }
  }
  return true;
}

void Watch::forget_shared_that_is_gone(SharedMemory& shared, int thread_that_asks) {
  if (!nobody_runs_beside(thread_that_asks)) return;
  Mappings own;
  const Number name(static_cast<std::uint64_t>(thread_that_asks));
  const Budget budget(budget_of_a_look_ns);
  if (!read_mappings(proc_, name.text, ~std::uint64_t{0}, budget, own)) return;
  // Each mapping is a part of what was mapped at once, however little of it is still mapped.
  shrink_shared(shared, smaller(shared.bytes, own.shared_anonymous * shared.largest));
}

void Watch::forget_shared(SharedMemory& shared) {
  shrink_shared(shared, 0);
  if (watches_ > 0 && nobody_runs_beside(0)) {
    watches_ = 0;
    max_watches_ = 0;
    next_recount_ = first_recount;
  }
}

void Watch::shrink_shared(SharedMemory& shared, std::uint64_t left) {
  shared_ -= shared.bytes - left;
  shared.bytes = left;
  if (left == 0) shared.largest = 0;
}

bool Watch::count_shared(SharedMemory& shared, std::uint64_t bytes, int thread,
                         std::uint64_t memory_limit) {
  const std::uint64_t whole_pages = (bytes + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  if (whole_pages < bytes) return false;
  // A part of the limit is reason enough to check whether the memory is still there, so that a
  // program with other memory is not ended because of memory that is gone.
  if (shared.bytes > 0 && whole_pages > beyond(memory_limit / worth_a_look, shared_)) {
    forget_shared_that_is_gone(shared, thread);
  }
  if (whole_pages > beyond(memory_limit, shared_)) return false;
  shared_ += whole_pages;
  shared.bytes += whole_pages;
  shared.largest = larger(shared.largest, whole_pages);
  return true;
}

std::uint64_t Watch::bytes_of_watches() const { return watches_ * bytes_of_a_watch; }

void Watch::recount_watches(int thread_that_asks) {
  next_recount_ = watches_ + first_recount;
  if (watches_ > max_recounted || !nobody_runs_beside(thread_that_asks)) return;
  const Number name(static_cast<std::uint64_t>(thread_that_asks));
  const Budget budget(budget_of_a_look_ns);
  Descriptors found;
  std::uint64_t count = 0;
  // Before Linux 6.3 no file tells of descriptors on their way to a connection that nobody has
  // accepted yet.
  if (!read_descriptors(proc_, name.text, budget, found) || found.in_flight > 0 ||
      may_listen(proc_) || !jail::child::count_watches(proc_, name.text, budget, count)) {
    return;
  }
  watches_ = smaller(watches_, count);
  // An open file keeps the text of watches that are gone.
  if (found.proc_files == 0) max_watches_ = watches_;
  next_recount_ = watches_ + larger(first_recount, watches_);
}

bool Watch::count_epoll_watch(int thread, std::uint64_t memory_limit) {
  if (watches_ >= next_recount_) recount_watches(thread);
  if (bytes_of_watches() >= memory_limit) return false;
  ++watches_;
  max_watches_ = larger(max_watches_, watches_);
  return true;
}

}  // namespace jail::child
