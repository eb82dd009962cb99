// This part of Watch counts anonymous memory that processes share, from when it is mapped.
#include "child/arithmetic.h"
#include "child/proc_files.h"
#include "child/watch.h"

namespace jail::child {

namespace {

// Shared memory of more than this part of the limit is worth checking whether it is still mapped.
constexpr std::uint64_t worth_a_look = 16;

}  // namespace

// True only where nothing of the jail can run meanwhile: the thread that asks is its only one.
bool Watch::is_only_thread(int thread) const {
  ProcessStat own;
  if (!read_stat(proc_, Number(static_cast<std::uint64_t>(thread)).text, own) || own.threads != 1) {
    return false;
  }
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t pid = 0;
  while (processes.next(name, pid)) {
    ProcessStat stat;
    if (pid <= 1 || pid == static_cast<std::uint64_t>(thread)) continue;
    if (read_stat(proc_, name, stat) && !(stat.has_ended() && stat.threads <= 1)) return false;
  }
  return true;
}

// The look is made twice: a fork with a smaller number than its parent, made during the first look,
// is met by the second one.
void Watch::forget_shared_that_is_gone(SharedMemory& shared, int thread_that_asks) {
  if (!is_only_thread(thread_that_asks) || !is_only_thread(thread_that_asks)) return;
  Mappings own;
  const Number name(static_cast<std::uint64_t>(thread_that_asks));
  const Budget budget(budget_of_a_look_ns);
  if (!read_mappings(proc_, name.text, ~std::uint64_t{0}, budget, own)) return;
  // Each mapping is a part of what was mapped at once, however little of it is still mapped.
  shrink_shared(shared, smaller(shared.bytes, own.shared_anonymous * shared.largest));
}

void Watch::forget_shared(SharedMemory& shared) { shrink_shared(shared, 0); }

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

}  // namespace jail::child
