#include "child/guest_calls.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "child/children.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

void tell_about_system(Notices& notices, Watch& watch, const Notice& notice) {
  if (watch.is_small(notice.thread)) {
    notices.tell_about_system(notice);
    return;
  }
  const long pid = fork_child();
  if (pid == 0) {
    notices.tell_about_system(notice);
    for (;;) raw::call(SYS_exit_group, 0);
  }
  if (pid > 0 && watch.exclude(static_cast<int>(pid))) return;
  notices.refuse(notice, EAGAIN);
  if (pid > 0) raw::call(SYS_kill, pid, SIGKILL);
}

}  // namespace

void answer_call(Notices& notices, SharedMemory& shared, Watch& watch, const Notice& notice,
                 std::uint64_t memory_limit) {
  if (notice.kind == NoticeKind::system_information) {
    tell_about_system(notices, watch, notice);
  } else if (notice.kind == NoticeKind::shared_memory &&
             !watch.count_shared(shared, notice.bytes, notice.thread, memory_limit)) {
    notices.refuse(notice, ENOMEM);
  } else {
    notices.let_go(notice);
  }
}

}  // namespace jail::child
