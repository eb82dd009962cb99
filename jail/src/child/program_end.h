// The end of a jail's program that waits in exit_group(2), from the moment in which init has heard
// of it to the one in which none of its instructions can run any more. Its memory is taken apart
// after that, which takes the kernel longer than most programs run.
#pragma once

#include <cstdint>

#include "child/proc_files.h"

namespace jail::child {

// The use of a process that is not reaped yet, which no counter of its parent contains before that.
struct UnreapedUse {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t memory_peak = 0;  // in bytes

  void count_time_of(long pid);
};

class ProgramEnd {
 public:
  // Opens what is read at the end, so that it is there by then. `proc` is a proc mount of this pid
  // namespace, `pid` a child of init's that it has not reaped.
  void expect(int proc, int pid);
  bool is_expected() const { return pid_ != 0; }

  // Must be called after expect(). Returns whether the process has one thread, is the jail's only
  // process beside init, and has never waited for a child, whose usage would be known only at the
  // process's end. All that stays so as long as its thread waits in its call. Returns false as well
  // where it cannot be read.
  bool is_alone();

  // Must be called after is_alone(): the same for a process that has other threads. Kills it, and
  // waits until each of them has left for good. Returns false where there are other processes, or
  // where it takes longer than `longest_leave_ns`; the process may be killed all the same.
  bool kill_threads();

  // The peak of the process's memory, as far as it was seen, in bytes.
  std::uint64_t memory_peak() const { return memory_peak_; }

 private:
  static constexpr std::uint64_t longest_leave_ns = 2'000'000;
  static constexpr std::uint64_t max_threads = 64;

  enum class Left : std::uint8_t { all_threads, some_threads, children };

  bool read_process(Text& room);
  bool is_inits_only_child(Text& room) const;
  Left look_at_threads() const;

  int proc_ = -1;
  int pid_ = 0;
  OpenedFile status_;
  OpenedFile stat_;
  OpenedFile children_;  // of its first thread
  OpenedFile inits_children_;
  std::uint64_t threads_ = 0;  // 0: unknown, or it has waited for a child
  std::uint64_t memory_peak_ = 0;
};

// Leaves the processor to the owner that the report has woken, and to whom that one answers: init
// would end, and take namespaces and mounts apart, before they get it. Returns early where the
// owner sends an order, since it has nothing else to do. The owner of a cold jail, whose run takes
// long anyway, rather has all of it gone.
void let_owner_go_on(int control);

}  // namespace jail::child
