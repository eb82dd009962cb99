#include "child/exit_notice.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cstddef>

#include "child/channel.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

long heard_process = -1;

// The kernel looks at the first argument of exit_group() alone. Whoever else passes this as the
// second one is heard too, and loses nothing by it.
constexpr std::uint64_t mark = 0x6a61696c20656e64;
constexpr std::size_t marked = offsetof(seccomp_data, args) + sizeof(std::uint64_t);

// What else a call may be is for the guest's own filter to judge, whose verdict goes before this
// one wherever it refuses: also of a call that has this number on another architecture.
constexpr sock_filter waits_where_marked[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, marked),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(mark), 0, 3),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, marked + 4),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(mark >> 32), 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

constexpr sock_filter allows[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};

}  // namespace

long load_filter_of_no_listener() {
  const sock_fprog program{1, const_cast<sock_filter*>(allows)};
  return raw::call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, raw::address(&program));
}

long give_exit_listener(int channel) {
  const sock_fprog program{sizeof waits_where_marked / sizeof waits_where_marked[0],
                           const_cast<sock_filter*>(waits_where_marked)};
  // WAIT_KILLABLE_RECV: what stops and continues processes does not wake who waits.
  const long listener =
      raw::call(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                raw::address(&program));
  if (listener == -EBUSY) return load_filter_of_no_listener();
  if (listener < 0) return listener;
  const wire::ExitListener message{wire::plan_magic};
  const long sent = send_with_room(channel, &message, sizeof message, static_cast<int>(listener));
  raw::call(SYS_close, listener);
  heard_process = raw::call(SYS_getpid);
  return sent < 0 ? sent : 0;
}

void end_heard(int status) {
  // A child that vfork() made runs in the same memory.
  if (raw::call(SYS_getpid) != heard_process) {
    for (;;) raw::call(SYS_exit_group, status);
  }
  constexpr std::uint64_t all_signals = ~std::uint64_t{0};
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::address(&all_signals), 0, sizeof all_signals);
  for (;;) raw::call(SYS_exit_group, status, static_cast<long>(mark));
}

void ExitNotices::listen(int fd) {
  if (fd_ >= 0) raw::call(SYS_close, fd_);
  fd_ = fd;
}

bool ExitNotices::take(Notice& notice) {
  seccomp_notif heard{};
  const long result = raw::call(SYS_ioctl, fd_, SECCOMP_IOCTL_NOTIF_RECV, raw::address(&heard));
  if (result < 0) {
    pollfd watched{fd_, POLLIN, 0};
    timespec at_once{};
    raw::call(SYS_ppoll, raw::address(&watched), 1, raw::address(&at_once), 0);
    if ((watched.revents & (POLLHUP | POLLERR)) != 0) listen(-1);
    return false;
  }
  notice.id = heard.id;
  notice.thread = static_cast<int>(heard.pid);
  notice.status = static_cast<int>(heard.data.args[0] & 0xff);
  return true;
}

void ExitNotices::let_go(const Notice& notice) {
  seccomp_notif_resp answer{};
  answer.id = notice.id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  // Fails where the process was killed meanwhile.
  raw::call(SYS_ioctl, fd_, SECCOMP_IOCTL_NOTIF_SEND, raw::address(&answer));
}

}  // namespace jail::child
