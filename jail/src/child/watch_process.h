// What the parts of Watch share: its processes, and what was counted of them.
#pragma once

#include <cstdint>

#include "child/proc_files.h"
#include "child/watch.h"

namespace jail::child {

constexpr int last_process = 1 << 22;  // the kernel has no larger number

struct Watch::Process {
  int pid;
  int thread;  // a thread that has not ended

  Number name() const { return Number(static_cast<std::uint64_t>(thread)); }
};

// The result of a count of all processes.
struct Watch::Kept {
  std::uint64_t descriptors = 0;  // bytes
  std::uint64_t mappings = 0;
  std::uint64_t in_flight = 0;  // descriptors
  std::uint64_t pipe_ends = 0;
  bool is_complete = true;  // every process was counted
};

// Calls visit(process, stat) for each process. A first thread that left by exit(2) shows no memory,
// although the others still have it.
template <class Visit>
void Watch::each_process(Visit visit) const {
  NumberedEntries processes(proc_);
  const char* name = nullptr;
  std::uint64_t pid = 0;
  while (processes.next(name, pid)) {
    ProcessStat stat;
    if (pid <= 1 || is_excluded(static_cast<int>(pid)) || !read_stat(proc_, name, stat)) continue;
    Process process{static_cast<int>(pid), static_cast<int>(pid)};
    if (stat.has_ended() && stat.threads > 1) find_memory(process, stat);
    visit(process, stat);
  }
}

}  // namespace jail::child
