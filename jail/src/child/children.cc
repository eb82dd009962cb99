#include "child/children.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"

namespace jail::child {

int open_child_signals() {
  const unsigned long child_signal = 1UL << (SIGCHLD - 1);
  return static_cast<int>(raw::call(SYS_signalfd4, -1, raw::address(&child_signal),
                                    sizeof child_signal, SFD_CLOEXEC | SFD_NONBLOCK));
}

void drain_child_signals(int fd) {
  signalfd_siginfo ignored;
  while (raw::call(SYS_read, fd, raw::address(&ignored), sizeof ignored) > 0) {
  }
}

long fork_child() {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  return raw::call(SYS_clone3, raw::address(&args), sizeof args);
}

}  // namespace jail::child
