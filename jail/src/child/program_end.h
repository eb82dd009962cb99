// What is left of a jail's program that waits in exit_group(2), from the moment that init has heard
// of it to the one in which none of its instructions can run any more. Its memory is taken apart
// after that, which takes the kernel longer than most programs run.
#pragma once

#include <cstdint>

namespace jail::child {

// What a process has used that is not reaped, so that it is in no counter of its parent's yet.
struct UnreapedUse {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t memory_peak = 0;  // in bytes

  void count_time_of(long pid);
};

class ProgramEnd {
 public:
  // `proc` is a proc mount of this pid namespace, `pid` a child of init's that it has not reaped.
  ProgramEnd(int proc, int pid) : proc_(proc), pid_(pid) {}

  // Whether the process has one thread, is the jail's only one beside init, and has never waited
  // for a child, whose use only its own end would tell. As long as its thread waits in its call
  // that stays so. False too where it cannot be read.
  bool is_alone();

  // To be asked after is_alone(): the same of a process that has other threads. Kills it, and waits
  // until each has left for good. False: there are other processes, or it takes longer than
  // `longest_leave_ns`; the process may be killed all the same.
  bool kill_threads();

  // The most that the process ever had, as far as it was seen, in bytes.
  std::uint64_t memory_peak() const { return memory_peak_; }

 private:
  static constexpr std::uint64_t longest_leave_ns = 2'000'000;
  static constexpr std::uint64_t max_threads = 64;

  enum class Left : std::uint8_t { all_threads, some_threads, children };

  bool read_process();
  bool is_inits_only_child() const;
  Left look_at_threads() const;

  int proc_;
  int pid_;
  std::uint64_t threads_ = 0;  // 0: not known, or it has waited for a child
  std::uint64_t memory_peak_ = 0;
};

}  // namespace jail::child
