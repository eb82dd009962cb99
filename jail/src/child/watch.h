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

  // This process shares the guest's memory and does nothing else.
  void leave_out(int pid);

  // Whether init has no child but that one, which has none.
  bool only_the_left_out_is_there() const;

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
  int left_out_ = 0;
  long left_out_pidfd_ = -1;
};

}  // namespace jail::child
