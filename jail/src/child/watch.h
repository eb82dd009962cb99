// What the processes of a jail use together, read from a proc mount that only init holds. This is
// the memory and CPU limit where no cgroup can be had.
#pragma once

#include <cstdint>

namespace jail::child {

struct WatchedUsage {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_ns = 0;  // of living processes and of children that they have waited for
};

class Watch {
 public:
  // Directories: a proc mount of this pid namespace, and the two tmpfs that the guest can fill.
  Watch(int proc, int workspace, int tmp, std::uint64_t page_bytes)
      : proc_(proc), workspace_(workspace), tmp_(tmp), page_bytes_(page_bytes) {}

  // Resident sizes added up first, which is cheap and counts shared pages more than once; only when
  // that passes `memory_limit` is every process asked for its proportional share.
  WatchedUsage measure(std::uint64_t memory_limit) const;

 private:
  template <class Visit>
  void each_process(Visit visit) const;
  std::uint64_t tmpfs_bytes() const;
  std::uint64_t precise_memory(std::uint64_t tmpfs) const;

  int proc_;
  int workspace_;
  int tmp_;
  std::uint64_t page_bytes_;
};

}  // namespace jail::child
