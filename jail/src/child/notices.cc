#include "child/notices.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>

#include <cstddef>

#include "child/channel.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

long heard_process = -1;

// The filter compares only the first argument of exit_group(). A guest that passes this mark as the
// second one is heard too, and loses nothing by it.
constexpr std::uint64_t mark = 0x6a61696c20656e64;
constexpr std::size_t marked = offsetof(seccomp_data, args) + sizeof(std::uint64_t);

constexpr std::size_t flags = offsetof(seccomp_data, args) + 3 * sizeof(std::uint64_t);
constexpr std::uint32_t kind_of_mapping = MAP_TYPE | MAP_ANONYMOUS;
constexpr std::uint32_t shared_anonymous = MAP_SHARED | MAP_ANONYMOUS;

// All other calls are left to the guest's own filter, whose verdict goes before this one wherever
// it refuses, also for a call that has one of these numbers on another architecture.
constexpr sock_filter waits[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, marked),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(mark), 0, 8),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, marked + 4),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(mark >> 32), 5, 6),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 4, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kind_of_mapping),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, shared_anonymous, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

// The filter for a guest that nobody can listen to. It is loaded in the other one's place since the
// kernel tells a program how many filters it has.
constexpr sock_filter refuses[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sysinfo, 5, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kind_of_mapping),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, shared_anonymous, 0, 2),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

NoticeKind kind_of(int call) {
  if (call == SYS_exit_group) return NoticeKind::end;
  return call == SYS_mmap ? NoticeKind::shared_memory : NoticeKind::system_information;
}

template <std::size_t size>
long load(const sock_filter (&filter)[size], long options) {
  const sock_fprog program{size, const_cast<sock_filter*>(filter)};
  return raw::call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, options, raw::address(&program));
}

}  // namespace

long give_listener(int channel) {
  // WAIT_KILLABLE_RECV keeps signals that stop and continue processes from waking the caller.
  const long listener =
      load(waits, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
  if (listener == -EBUSY) return load(refuses, 0);
  if (listener < 0) return listener;
  const wire::Listener message{wire::plan_magic};
  const long sent = send_with_room(channel, &message, sizeof message, static_cast<int>(listener));
  raw::call(SYS_close, listener);
  return sent < 0 ? sent : 0;
}

void let_own_end_be_heard() { heard_process = raw::call(SYS_getpid); }

void end_heard(int status) {
  // A child of vfork() runs in the same memory.
  if (raw::call(SYS_getpid) != heard_process) {
    for (;;) raw::call(SYS_exit_group, status);
  }
  constexpr std::uint64_t all_signals = ~std::uint64_t{0};
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::address(&all_signals), 0, sizeof all_signals);
  for (;;) raw::call(SYS_exit_group, status, static_cast<long>(mark));
}

void Notices::listen(int fd) {
  if (fd_ >= 0) raw::call(SYS_close, fd_);
  fd_ = fd;
}

bool Notices::take(short events, Notice& notice) {
  // Before Linux 6.11 the receiving call waits for ever where the last process that could call is
  // gone.
  if ((events & POLLIN) == 0) {
    if ((events & (POLLHUP | POLLERR)) != 0) listen(-1);
    return false;
  }
  seccomp_notif heard{};
  if (raw::call(SYS_ioctl, fd_, SECCOMP_IOCTL_NOTIF_RECV, raw::address(&heard)) < 0) return false;
  notice.id = heard.id;
  notice.thread = static_cast<int>(heard.pid);
  notice.kind = kind_of(heard.data.nr);
  notice.status = static_cast<int>(heard.data.args[0] & 0xff);
  notice.bytes = heard.data.args[1];
  notice.place = heard.data.args[0];
  return true;
}

bool Notices::is_waiting(const Notice& notice) const {
  return raw::call(SYS_ioctl, fd_, SECCOMP_IOCTL_NOTIF_ID_VALID, raw::address(&notice.id)) == 0;
}

void Notices::let_go(const Notice& notice) { answer(notice, SECCOMP_USER_NOTIF_FLAG_CONTINUE, 0); }

void Notices::refuse(const Notice& notice, int error) { answer(notice, 0, -error); }

void Notices::tell_about_system(const Notice& notice) {
  struct sysinfo machine {};
  raw::call(SYS_sysinfo, raw::address(&machine));
  struct sysinfo told {};
  told.uptime = machine.uptime;  // as every clock shows it
  told.totalram = machine.totalram;
  told.freeram = machine.totalram;
  told.mem_unit = machine.mem_unit;
  told.procs = 1;
  // The caller may have been killed, and its number may be another process's by now. Between this
  // check and the write that could happen only if all numbers were used up once; a process of the
  // same jail would then find this answer, whose content nobody chooses, in its memory. A
  // descriptor of the memory would exclude that too, but init's proc mount is read-only.
  if (!is_waiting(notice)) return;
  iovec from{&told, sizeof told};
  iovec to{reinterpret_cast<void*>(notice.place), sizeof told};
  const long written = raw::call(SYS_process_vm_writev, notice.thread, raw::address(&from), 1,
                                 raw::address(&to), 1, 0);
  if (written == sizeof told) {
    answer(notice, 0, 0);
  } else {
    refuse(notice, written < 0 ? static_cast<int>(-written) : EFAULT);
  }
}

void Notices::answer(const Notice& notice, std::uint32_t flags_of_answer, int error) {
  seccomp_notif_resp response{};
  response.id = notice.id;
  response.flags = flags_of_answer;
  response.error = error;
  // The ioctl fails where the process was killed meanwhile.
  raw::call(SYS_ioctl, fd_, SECCOMP_IOCTL_NOTIF_SEND, raw::address(&response));
}

}  // namespace jail::child
