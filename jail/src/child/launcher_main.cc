// The launcher: a tiny program of its own that clones jails on request. It is executed once with an
// empty environment and knows nothing of its parent, so neither it nor any init that it becomes
// can leak what the parent holds.
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/apply.h"
#include "child/channel.h"
#include "child/launch_fds.h"
#include "child/network_pool.h"
#include "child/own_ids.h"
#include "child/raw_syscall.h"
#include "child/relocate.h"
#include "child/supervise.h"
#include "child/wire.h"

namespace jail::child {
namespace {

// Set up by the parent; 0, 1 and 2 are /dev/null.
constexpr int request_socket = 3;
constexpr int own_image = 4;

// In a template's host: where its zygote is asked for guests. An init that was forked here takes
// it along.
int zygote_socket = -1;
long zygote = 0;
NetworkPool networks;

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
// checked here is only that both are of one build. 0 or a negative errno.
long map_plan(int fd, wire::PlanHeader*& plan) {
  wire::PlanHeader probe{};
  if (raw::call(SYS_pread64, fd, raw::address(&probe), sizeof probe, 0) != sizeof probe ||
      probe.magic != wire::plan_magic) {
    return -EINVAL;
  }
  const long mapped = raw::call(SYS_mmap, 0, static_cast<long>(probe.size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE, fd, 0);
  if (mapped < 0 && mapped > -4096) return mapped;
  char* base = reinterpret_cast<char*>(mapped);
  relocate(base);
  plan = reinterpret_cast<wire::PlanHeader*>(base);
  return 0;
}

// It bounds how many descriptors may be on their way for this user when one is to be sent, of which
// guests can have more than the usual 1024.
void raise_descriptor_limit() {
  std::uint64_t pair[2];  // soft and hard
  if (raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, raw::address(pair)) != 0) return;
  pair[0] = pair[1];
  raw::call(SYS_prlimit64, 0, RLIMIT_NOFILE, raw::address(pair), 0);
}

void fill_slots(const LaunchFds& fds, long* slots) {
  for (std::size_t i = 0; i < wire::slot_count; ++i) slots[i] = -1;
  const struct {
    wire::Slot slot;
    wire::LaunchFd fd;
  } filled[] = {{wire::slot_control, wire::launch_control},
                {wire::slot_stdin, wire::launch_stdin},
                {wire::slot_stdout, wire::launch_stdout},
                {wire::slot_stderr, wire::launch_stderr},
                {wire::slot_cgroup, wire::launch_cgroup},
                {wire::slot_invocation, wire::launch_invocation},
                {wire::slot_library, wire::launch_library},
                {wire::slot_setup, wire::launch_setup},
                {wire::slot_guest_plan, wire::launch_guest_plan},
                {wire::slot_egress, wire::launch_egress}};
  for (const auto& entry : filled) slots[entry.slot] = fds.of(entry.fd);
}

// Runs one list of the plan; does not return when a call fails.
void apply_or_leave(const wire::PlanHeader& plan, std::uint32_t phase, long* slots) {
  char* base = reinterpret_cast<char*>(const_cast<wire::PlanHeader*>(&plan));
  const auto* calls = reinterpret_cast<const wire::Call*>(base + plan.calls_offset);
  const Failure failure = phase == 0
                              ? apply(calls, plan.init_calls, base, slots)
                              : apply(calls + plan.init_calls, plan.guest_calls, base, slots);
  if (failure.index < 0) return;
  send_failure(static_cast<int>(slots[wire::slot_control]), phase, failure.index, failure.error);
  leave(1);
}

[[noreturn]] void become_init(const wire::PlanHeader& plan, LaunchFds& fds,
                              std::uint32_t guest_work) {
  raw::call(SYS_close, request_socket);
  set_signal(SIGCHLD, SIG_DFL);
  block_all_signals();
  const bool forks_later = plan.kind == wire::plan_living && zygote_socket >= 0;
  if (plan.kind != wire::plan_forked) {
    fds.close(wire::launch_invocation | (forks_later ? 0u : wire::launch_cgroup));
  }
  long slots[wire::slot_count];
  fill_slots(fds, slots);
  slots[wire::slot_zygote] = zygote_socket;
  apply_or_leave(plan, 0, slots);
  supervise(plan, reinterpret_cast<char*>(const_cast<wire::PlanHeader*>(&plan)), slots, guest_work);
  leave(0);
}

void serve();

long start_zygote(const wire::PlanHeader& plan, long* slots) {
  int ends[2];
  const long made =
      raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends));
  if (made < 0) return made;
  std::int32_t number = wire::zygote_pid;
  clone_args args{};
  args.flags = CLONE_CLEAR_SIGHAND;
  args.exit_signal = SIGCHLD;
  args.set_tid = static_cast<std::uint64_t>(raw::address(&number));
  args.set_tid_size = 1;
  const long pid = raw::call(SYS_clone3, raw::address(&args), sizeof args);
  if (pid == 0) {
    set_signal(SIGCHLD, SIG_DFL);
    slots[wire::slot_zygote] = ends[0];
    apply_or_leave(plan, 1, slots);
    leave(127);
  }
  raw::call(SYS_close, ends[0]);
  zygote_socket = ends[1];
  return pid;
}

// Pid 1 of the namespaces that all jails of a template are made in; the kernel ends every one of
// them with it. So it outlives its owner until the last of them has ended, and does nothing that
// could fail on the way.
[[noreturn]] void become_host(const wire::PlanHeader& plan, LaunchFds& fds) {
  raw::call(SYS_dup3, fds.of(wire::launch_serve), request_socket, O_CLOEXEC);
  fds.close(wire::launch_serve);
  raw::call(SYS_prctl, PR_SET_NAME, raw::address("jail-template"));
  long slots[wire::slot_count];
  fill_slots(fds, slots);
  apply_or_leave(plan, 0, slots);
  zygote = start_zygote(plan, slots);
  if (zygote < 0) {
    send_failure(fds.of(wire::launch_control), 1, -1, static_cast<std::int32_t>(-zygote));
    leave(1);
  }
  raw::call(SYS_close, slots[wire::slot_workspace]);
  raw::call(SYS_close, slots[wire::slot_tmp]);
  fds.close();
  raw::call(SYS_munmap, raw::address(&plan), static_cast<long>(plan.size));
  serve();
  raw::call(SYS_kill, zygote, SIGKILL);
  // SIGCHLD is ignored, so this returns once there is no child left.
  while (raw::call(SYS_wait4, -1, 0, 0, 0) == -EINTR) {
  }
  leave(0);
}

// A host that jails of many ids are made in cannot map them itself: it waits until its launcher
// has.
class MappedByLauncher {
 public:
  explicit MappedByLauncher(const wire::PlanHeader& plan)
      : plan_(plan), is_needed_(plan.kind == wire::plan_host && plan.uid_map_offset != 0) {}

  // 0 or a negative errno.
  long prepare() { return is_needed_ ? raw::call(SYS_pipe2, raw::address(ends_), O_CLOEXEC) : 0; }

  // In the host.
  void await() {
    if (!is_needed_) return;
    raw::call(SYS_close, ends_[1]);
    char word = 0;
    long got;
    do {
      got = raw::call(SYS_read, ends_[0], raw::address(&word), sizeof word);
    } while (got == -EINTR);
    if (got != sizeof word) leave(1);
    raw::call(SYS_close, ends_[0]);
  }

  // In the launcher; `pid` may be a negative errno. 0 or a negative errno, after which the host
  // leaves.
  long finish(long pid) {
    if (!is_needed_) return 0;
    long done = 0;
    if (pid > 0) {
      done = write_maps_of_host(plan_, reinterpret_cast<const char*>(&plan_), pid);
      const char word = 1;
      if (done == 0) raw::call(SYS_write, ends_[1], raw::address(&word), sizeof word);
    }
    raw::call(SYS_close, ends_[0]);
    raw::call(SYS_close, ends_[1]);
    return done;
  }

 private:
  const wire::PlanHeader& plan_;
  bool is_needed_;
  int ends_[2] = {-1, -1};
};

// In a child a pid of 0, else that of the child or a negative errno.
long clone_as(const wire::Ids& ids, clone_args& args) {
  wire::Ids own{};
  long pid = count_as(ids, own);
  if (pid == 0) pid = raw::call(SYS_clone3, raw::address(&args), sizeof args);
  if (pid != 0) stop_counting_as(ids, own);
  return pid;
}

void launch(LaunchFds& fds, const wire::LaunchRequest& request) {
  wire::Message message{};
  message.type = wire::message_launched;
  int pidfd = -1;
  wire::PlanHeader* plan = nullptr;
  const long mapped = map_plan(fds.of(wire::launch_plan), plan);
  fds.close(wire::launch_plan);
  if (mapped < 0) {
    message.error = static_cast<std::int32_t>(-mapped);
  } else {
    clone_args args{};
    args.flags = plan->clone_flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    args.pidfd = static_cast<std::uint64_t>(raw::address(&pidfd));
    args.exit_signal = SIGCHLD;
    const int cgroup = fds.of(wire::launch_cgroup);
    if (cgroup >= 0) {
      // Born in its cgroup: there is no moment in which it runs unlimited.
      args.flags |= CLONE_INTO_CGROUP;
      args.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    const bool joins = plan->kind == wire::plan_forked && (args.flags & CLONE_NEWNET) == 0;
    fill_id_maps(*plan, reinterpret_cast<char*>(plan), request.ids);
    MappedByLauncher maps(*plan);
    long pid = maps.prepare();
    if (pid == 0 && joins) pid = networks.enter();
    if (pid == 0) pid = clone_as(request.ids, args);
    if (pid == 0) {
      maps.await();
      if (plan->kind == wire::plan_host) become_host(*plan, fds);
      become_init(*plan, fds, request.guest_work);
    }
    if (const long written = maps.finish(pid); written < 0) pid = written;
    if (pid < 0) message.error = static_cast<std::int32_t>(-pid);
    if (joins && pidfd >= 0) networks.entered_by(pidfd);
    raw::call(SYS_munmap, raw::address(plan), static_cast<long>(plan->size));
  }
  const long sent = send_message(fds.of(wire::launch_control), message, pidfd);
  if (sent == -ETOOMANYREFS) {
    // Its owner gives the jail up, and init ends with its owner.
    message.error = ETOOMANYREFS;
    send_message(fds.of(wire::launch_control), message);
  }
  if (pidfd >= 0) raw::call(SYS_close, pidfd);
  fds.close();
}

void serve() {
  for (;;) {
    wire::LaunchRequest request{};
    int received[max_fds];
    std::size_t count = 0;
    const long got =
        receive(request_socket, &request, sizeof request, received, max_fds, &count, 0);
    if (got == -EINTR) continue;
    if (got <= 0) return;  // the parent is gone
    LaunchFds fds;
    if (got == sizeof request && request.magic == wire::plan_magic &&
        sort_fds(request, received, count, fds)) {
      launch(fds, request);
    } else {
      for (std::size_t i = 0; i < count; ++i) raw::call(SYS_close, received[i]);
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
  raise_descriptor_limit();
  serve();
  leave(0);
}

#if defined(__x86_64__)
asm(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call launcher_main\n  hlt\n");
#elif defined(__aarch64__)
asm(".globl _start\n_start:\n  mov x29, xzr\n  mov x30, xzr\n  bl launcher_main\n  brk #0\n");
#endif
