#include "zygote/fork_into.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "child/raw_syscall.h"

namespace jail::zygote {
namespace {

// The network namespace belongs to the host or to the jail; the first is joined with the zygote's
// own capability, which is gone once the jail's user namespace is joined.
constexpr long first_joined = CLONE_NEWNET;
constexpr long joined =
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
// Not the next number, which is the guest's.
constexpr std::int32_t passing_pid = 31'999;

[[noreturn]] inline void leave() {
  for (;;) raw::call(SYS_exit, 0);
}

inline void wait_for(long pid) {
  while (raw::call(SYS_wait4, pid, 0, __WALL, 0) == -EINTR) {
  }
}

// Runs on the caller's stack while the caller stands still, as after vfork(): it must not return.
inline long borrow(clone_args& args) {
  args.flags |= CLONE_VM | CLONE_VFORK;
  return raw::call(SYS_clone3, raw::address(&args), sizeof args);
}

// 0 or a negative errno.
inline long join(const Place& place) {
  long done = 0;
  for (std::size_t i = 0; i < place.namespace_count && done == 0; ++i) {
    done = raw::call(SYS_setns, place.namespaces[i], 0);
  }
  if (place.namespace_count > 0) return done;
  done = raw::call(SYS_setns, place.init_pidfd, first_joined);
  return done == 0 ? raw::call(SYS_setns, place.init_pidfd, joined) : done;
}

}  // namespace

[[gnu::noinline]] Forked fork_into(const Place& place, int cgroup) {
  volatile long error = 0;
  clone_args outer{};
  if (cgroup >= 0) {
    outer.flags = CLONE_INTO_CGROUP;
    outer.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  const long joining = borrow(outer);
  if (joining == 0) {
    error = join(place);
    if (error < 0) leave();
    std::int32_t number = passing_pid;
    clone_args inner{};
    inner.set_tid = static_cast<std::uint64_t>(raw::address(&number));
    inner.set_tid_size = 1;
    const long inside = borrow(inner);
    if (inside == 0) {
      // glibc's own, so that what it keeps of the thread is the guest's.
      const pid_t guest = ::_Fork();
      if (guest == 0) return {true, 0};
      if (guest < 0) error = -errno;
      leave();
    }
    if (inside < 0) {
      error = inside;
      leave();
    }
    wait_for(inside);
    leave();
  }
  if (joining < 0) return {false, static_cast<int>(-joining)};
  wait_for(joining);
  return {false, static_cast<int>(-error)};
}

}  // namespace jail::zygote
