#include "child/guest_calls.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"

namespace jail::child {

void tell_about_system(Notices& notices, Watch& watch, const Notice& notice) {
  if (watch.is_small(notice.thread)) {
    notices.tell_about_system(notice);
    return;
  }
  clone_args args{};
  args.exit_signal = SIGCHLD;
  const long pid = raw::call(SYS_clone3, raw::address(&args), sizeof args);
  if (pid == 0) {
    notices.tell_about_system(notice);
    for (;;) raw::call(SYS_exit_group, 0);
  }
  if (pid > 0 && watch.leave_out(static_cast<int>(pid))) return;
  notices.refuse(notice, EAGAIN);
  if (pid > 0) raw::call(SYS_kill, pid, SIGKILL);
}

void answer_shared_memory(Notices& notices, Watch& watch, const Notice& notice,
                          std::uint64_t memory_limit) {
  if (watch.count_shared(notice.bytes, notice.thread, memory_limit)) {
    notices.let_go(notice);
  } else {
    notices.refuse(notice, ENOMEM);
  }
}

}  // namespace jail::child
