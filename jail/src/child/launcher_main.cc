// The launcher: a tiny program of its own that clones jails on request. It is executed once with an
// empty environment and knows nothing of its parent, so neither it nor any init that it becomes
// can leak what the parent holds.
#include <errno.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "child/apply.h"
#include "child/channel.h"
#include "child/raw_syscall.h"
#include "child/supervise.h"
#include "child/wire.h"

namespace jail::child {
namespace {

// Set up by the parent; 0, 1 and 2 are /dev/null.
constexpr int request_socket = 3;
constexpr int own_image = 4;

[[noreturn]] void leave(int status) {
  for (;;) raw::call(SYS_exit_group, status);
}

// rt_sigaction's own layout: glibc's struct sigaction is another one.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

void set_signal(int signal, void (*handler)(int)) {
  KernelSigaction action{};
  action.handler = handler;
  raw::call(SYS_rt_sigaction, signal, raw::address(&action), 0, sizeof(unsigned long));
}

void block_all_signals() {
  const unsigned long all = ~0UL;
  raw::call(SYS_rt_sigprocmask, SIG_SETMASK, raw::address(&all), 0, sizeof all);
}

// Turns offsets into addresses of this mapping. The parent built the plan and sealed it, so what is
// checked here is only that both are of one build.
wire::PlanHeader* map_plan(int fd) {
  wire::PlanHeader probe{};
  if (raw::call(SYS_pread64, fd, raw::address(&probe), sizeof probe, 0) != sizeof probe ||
      probe.magic != wire::plan_magic) {
    return nullptr;
  }
  const long mapped = raw::call(SYS_mmap, 0, static_cast<long>(probe.size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE, fd, 0);
  if (mapped < 0 && mapped > -4096) return nullptr;
  char* base = reinterpret_cast<char*>(mapped);
  const auto* offsets = reinterpret_cast<const std::uint64_t*>(base + probe.relocations_offset);
  for (std::uint32_t i = 0; i < probe.relocations; ++i) {
    *reinterpret_cast<std::uint64_t*>(base + offsets[i]) += static_cast<std::uint64_t>(mapped);
  }
  return reinterpret_cast<wire::PlanHeader*>(base);
}

[[noreturn]] void become_init(wire::PlanHeader* plan, const int* fds, int cgroup) {
  raw::call(SYS_close, request_socket);
  if (cgroup >= 0) raw::call(SYS_close, cgroup);
  set_signal(SIGCHLD, SIG_DFL);
  block_all_signals();
  long slots[wire::slot_count];
  for (long& slot : slots) slot = -1;
  for (int i = 0; i < 4; ++i) slots[wire::slot_control + i] = fds[1 + i];

  char* base = reinterpret_cast<char*>(plan);
  const auto* calls = reinterpret_cast<const wire::Call*>(base + plan->calls_offset);
  const Failure failure = apply(calls, plan->init_calls, base, slots);
  if (failure.index >= 0) {
    wire::Message message{};
    message.type = wire::message_failed;
    message.index = failure.index;
    message.error = failure.error;
    send_message(static_cast<int>(slots[wire::slot_control]), message);
    leave(1);
  }
  supervise(*plan, base, slots);
  leave(0);
}

void launch(const int* fds, std::size_t count) {
  wire::Message message{};
  message.type = wire::message_launched;
  int pidfd = -1;
  wire::PlanHeader* plan = map_plan(fds[0]);
  raw::call(SYS_close, fds[0]);
  if (plan == nullptr) {
    message.error = EINVAL;
  } else {
    clone_args args{};
    args.flags = plan->clone_flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    args.pidfd = static_cast<std::uint64_t>(raw::address(&pidfd));
    args.exit_signal = SIGCHLD;
    const int cgroup = count == wire::most_launch_fds ? fds[count - 1] : -1;
    if (cgroup >= 0) {
      // Born in its cgroup: there is no moment in which it runs unlimited.
      args.flags |= CLONE_INTO_CGROUP;
      args.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    const long pid = raw::call(SYS_clone3, raw::address(&args), sizeof args);
    if (pid == 0) become_init(plan, fds, cgroup);
    if (pid < 0) message.error = static_cast<std::int32_t>(-pid);
    raw::call(SYS_munmap, raw::address(plan), static_cast<long>(plan->size));
  }
  send_message(fds[1], message, pidfd);
  if (pidfd >= 0) raw::call(SYS_close, pidfd);
  for (std::size_t i = 1; i < count; ++i) raw::call(SYS_close, fds[i]);
}

void serve() {
  for (;;) {
    wire::LaunchRequest request{};
    int fds[wire::most_launch_fds];
    std::size_t count = 0;
    const long received =
        receive(request_socket, &request, sizeof request, fds, wire::most_launch_fds, &count, 0);
    if (received == -EINTR) continue;
    if (received <= 0) return;  // the parent is gone
    if (received == sizeof request && request.magic == wire::plan_magic &&
        count >= wire::least_launch_fds) {
      launch(fds, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) raw::call(SYS_close, fds[i]);
    }
  }
}

}  // namespace
}  // namespace jail::child

extern "C" [[noreturn]] void launcher_main() {
  using namespace jail::child;
  jail::raw::call(SYS_close, own_image);
  // Init processes are awaited by their pidfd in the parent; ignoring SIGCHLD lets the kernel reap
  // them here.
  set_signal(SIGCHLD, SIG_IGN);
  // A session keyring of its own for all jails: the caller's would be possessed by every guest.
  const long joined = jail::raw::call(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
  if (joined < 0 && joined != -ENOSYS) leave(1);  // ENOSYS: a kernel without keys
  jail::raw::call(SYS_prctl, PR_SET_NAME, jail::raw::address("jail-launcher"));
  serve();
  leave(0);
}

#if defined(__x86_64__)
asm(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call launcher_main\n  hlt\n");
#elif defined(__aarch64__)
asm(".globl _start\n_start:\n  mov x29, xzr\n  mov x30, xzr\n  bl launcher_main\n  brk #0\n");
#endif
