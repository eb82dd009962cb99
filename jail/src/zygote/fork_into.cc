#include "zygote/fork_into.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "child/channel.h"
#include "child/raw_syscall.h"
#include "child/wire.h"

namespace jail::zygote {
namespace {

// The network namespace belongs to the host or to the jail; the first is joined with the zygote's
// own capability, which is gone once the jail's user namespace is joined. That one gives the right
// to join the others.
constexpr long joined[] = {CLONE_NEWNET, CLONE_NEWUSER,
                           CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP};
// Not the next number, which is the guest's. In company anybody may have this one, and which the
// guest has is all the same.
constexpr std::int32_t passing_pid = 31'999;

// Runs on the caller's stack while the caller stands still, as after vfork(): it must not return.
constexpr std::uint64_t borrows = CLONE_VM | CLONE_VFORK;

inline long clone(clone_args& args) {
  return raw::call(SYS_clone3, raw::address(&args), sizeof args);
}

inline void wait_for(long pid) {
  while (raw::call(SYS_wait4, pid, 0, __WALL, 0) == -EINTR) {
  }
}

[[noreturn]] inline void leave() {
  for (;;) raw::call(SYS_exit, 0);
}

// `error` is a negative errno.
void report_failure(int channel, long error) {
  const wire::GuestReport report{-1, static_cast<std::int32_t>(-error), 0, 0, 0, 0};
  child::send_bytes(channel, &report, sizeof report, nullptr, 0);
}

[[noreturn]] inline void give_up(int channel, long error) {
  report_failure(channel, error);
  leave();
}

// Children of the caller are in the pid namespace of the jail from here on, the caller itself is
// not. 0 or a negative errno.
inline long join_pid_namespace(const Place& place) {
  const int from = place.namespace_count > 0 ? place.namespaces[0] : place.init_pidfd;
  return raw::call(SYS_setns, from, CLONE_NEWPID);
}

// The jail's only user may be another one of the host than the zygote's. To join the user namespace
// of another one makes the memory undumpable, and init could not look into what it counts. Others
// in the jail cannot once it is dumpable either: their Landlock domains do not let them.
inline long become_guests_user() {
  long done = raw::call(SYS_setresgid, wire::guest_gid, wire::guest_gid, wire::guest_gid);
  if (done == 0) {
    done = raw::call(SYS_setresuid, wire::guest_uid, wire::guest_uid, wire::guest_uid);
  }
  return done == 0 ? raw::call(SYS_prctl, PR_SET_DUMPABLE, 1) : done;
}

// All other namespaces. 0 or a negative errno.
inline long join_others(const Place& place) {
  long done = 0;
  for (std::size_t i = 1; i < place.namespace_count && done == 0; ++i) {
    done = raw::call(SYS_setns, place.namespaces[i], 0);
  }
  if (place.namespace_count > 0) return done;
  for (const long kinds : joined) {
    if (done == 0) done = raw::call(SYS_setns, place.init_pidfd, kinds);
  }
  return done;
}

}  // namespace

[[gnu::noinline]] bool fork_into(const Place& place) {
  if (const long done = join_pid_namespace(place); done < 0) {
    report_failure(place.channel, done);
    return false;
  }
  const bool in_company = place.namespace_count > 0;
  std::int32_t number = passing_pid;
  clone_args args{};
  args.flags = in_company ? CLONE_PARENT : borrows;
  if (!in_company) {
    args.set_tid = static_cast<std::uint64_t>(raw::address(&number));
    args.set_tid_size = 1;
  }
  if (place.cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(place.cgroup);
  }
  const long passing = clone(args);
  if (passing == 0) {
    long done = join_others(place);
    if (done == 0) done = become_guests_user();
    if (done < 0) give_up(place.channel, done);
    // glibc's own, so that what it keeps of the thread is the guest's.
    const pid_t guest = ::_Fork();
    if (guest == 0) return true;
    if (guest < 0) report_failure(place.channel, -errno);
    leave();
  }
  if (passing < 0) {
    report_failure(place.channel, passing);
  } else if (!in_company) {
    wait_for(passing);
  }
  return false;
}

}  // namespace jail::zygote
