// The way of a child of init to the program that it executes, and the reports that init gets
// meanwhile.
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>

#include <cstdint>

#include "child/apply.h"
#include "child/children.h"
#include "child/notices.h"
#include "child/raw_syscall.h"
#include "child/wire.h"

namespace jail::child {

// Lowers a pair of soft and hard limit in the plan to the owner's value where that is less.
std::uint64_t* lower_limit(char* plan, std::uint64_t offset, std::uint64_t given);

// What becomes of a soft limit that is lower than the hard limit is to be. A process that has not
// begun its program gets the plan's exactly, since lower is not always safer (RLIMIT_CORE); those
// of a program are its own choice.
enum class SoftLimit : bool { stays, follows };

// Lowers the hard limit of a process to `most`; one that is lower stays. Returns 0 or a negative
// errno.
long lower_limit_of(int pid, long resource, std::uint64_t most, SoftLimit soft);

// Lowers soft and hard limit of a process that has the plan's to the owner's value where that is
// less. The plan stays as it is. Returns 0 or a negative errno.
long lower_planned_limit(long pid, int resource, const char* plan, std::uint64_t offset,
                         std::uint64_t given);

// Makes a child that calls `become(report)`, which must not return: it ends in start_guest() or in
// fail_start(). Returns the child's number, and init's end of `report` in `start_report`; or a
// negative errno.
template <class Become>
long fork_guest(int& start_report, const Become& become) {
  int ends[2];
  const long paired =
      raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends));
  if (paired < 0) return paired;
  const long pid = fork_child();
  if (pid == 0) become(ends[1]);
  raw::call(SYS_close, ends[1]);
  if (pid < 0) {
    raw::call(SYS_close, ends[0]);
  } else {
    start_report = ends[0];
  }
  return pid;
}

// Maps the file that says what a process executes, and puts its addresses into slots. The owner has
// made the file and sealed it. Returns 0 or a negative errno.
long map_command(int fd, long* slots);

// Runs the plan's guest list, which ends in execve. `report` first carries the listener of
// notices.h, then the Failure of a call that failed. The end of `report` means that execve has
// succeeded, since every descriptor but the streams is close-on-exec.
[[noreturn]] void start_guest(const wire::PlanHeader& plan, char* base, long* slots, int report);

// Reports the failure and ends the child.
[[noreturn]] void fail_start(int report, const Failure& failure);

enum class StartReport : std::uint8_t { nothing_yet, failed, running };

// Takes what has come on `start_report`, without waiting. Closes it and sets it to -1 when nothing
// more is to come. `failure` is set with StartReport::failed.
StartReport take_start_report(int& start_report, Notices& notices, Failure& failure);

}  // namespace jail::child
