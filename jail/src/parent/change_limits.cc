// Changing the limits of a living jail: those that the owner holds itself first, since they alone
// can be refused, and then those that init holds.
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jail/jail.h"
#include "parent/act_as.h"
#include "parent/jail_state.h"
#include "parent/order.h"
#include "plan/check_spec.h"
#include "plan/plan.h"

namespace jail {
namespace {

constexpr const char* what_is_done = "change the limits of a jail";

Result<void> check_runs(const Jail::State& state) {
  if (state.failure) return *state.failure;
  if (!state.spawning) return invalid(std::string(what_is_done) + ": it is no living one");
  if (state.phase == Phase::ended) {
    return Error{ErrorKind::closed, std::string(what_is_done) + ": it has ended", 0, {}};
  }
  if (state.phase == Phase::running) return {};
  return invalid(std::string(what_is_done) + ": it does not run yet");
}

Limits with(Limits limits, const LimitChange& change) {
  limits.memory_bytes = change.memory_bytes.value_or(limits.memory_bytes);
  limits.processes = change.processes.value_or(limits.processes);
  limits.cpu_percent = change.cpu_percent.value_or(limits.cpu_percent);
  limits.file_bytes = change.file_bytes.value_or(limits.file_bytes);
  limits.workspace_bytes = change.workspace_bytes.value_or(limits.workspace_bytes);
  limits.tmp_bytes = change.tmp_bytes.value_or(limits.tmp_bytes);
  return limits;
}

// A file system whose size can be changed.
struct Resizable {
  const char* limit;  // its name in Limits
  const char* path;
  Fd& context;
};

Result<void> check_room(const Jail& jail, const Resizable& what, std::uint64_t bytes) {
  const auto directory = jail.open_file(what.path, O_PATH | O_DIRECTORY);
  if (!directory) return directory.error();
  struct statfs use {};
  if (::fstatfs(directory->get(), &use) != 0) return system_error(what_is_done);
  const auto block = static_cast<std::uint64_t>(use.f_bsize);
  const std::uint64_t used = (use.f_blocks - use.f_bfree) * block;
  if (used <= bytes) return {};
  return Error{ErrorKind::refused,
               std::string("limits.") + what.limit + ": " + std::to_string(used) +
                   " bytes are in it, more than " + std::to_string(bytes),
               0,
               {}};
}

// The kernel refuses a size that is below what is in it, and from then on every other one: the
// context is of no use after an error. A new one takes the right to mount in one's own mount
// namespace, which a process in new namespaces has; it shares the descriptors of the caller.
struct ToPick {
  int directory;
  long made;
};

int pick(void* needs) {
  auto* const what = static_cast<ToPick*>(needs);
  what->made = ::syscall(SYS_fspick, what->directory, "", FSPICK_EMPTY_PATH | FSPICK_CLOEXEC);
  return 0;
}

void renew_context(const Jail& jail, const Resizable& what) {
  const auto directory = jail.open_file(what.path, O_PATH | O_DIRECTORY);
  if (!directory) return;
  constexpr int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWUSER | CLONE_NEWNS;
  alignas(16) char stack[16384];
  ToPick needs{directory->get(), -1};
  // A handler would run in the child with this process's memory.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::clone(pick, stack + sizeof stack, flags, &needs);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) return;
  while (::waitpid(child, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (needs.made >= 0) what.context = Fd(static_cast<int>(needs.made));
}

Result<void> set_size(const Resizable& what, std::uint64_t bytes, const wire::Ids& ids) {
  const AdministerAs administering(ids);
  const std::string text = std::to_string(bytes);
  const int context = what.context.get();
  if (::syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", text.c_str(), 0) == 0 &&
      ::syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, nullptr, nullptr, 0) == 0) {
    return {};
  }
  const int error = errno;
  const std::string name = std::string("limits.") + what.limit;
  if (error == EINVAL) {
    return Error{ErrorKind::refused, name + ": more came to be in it meanwhile", error, {}};
  }
  if (error == EBUSY) {
    return Error{ErrorKind::unsupported, name + ": it cannot be changed any more", error,
                 "an earlier change met a program that filled it at that moment"};
  }
  return Error{ErrorKind::kernel, std::string(what_is_done) + ": resize " + what.path, error, {}};
}

// The steps of a change. Those that were taken are taken back unless all were.
class Steps {
 public:
  Steps(const Jail& jail, Jail::State& state, const Limits& wanted)
      : jail_(jail), state_(state), wanted_(wanted) {}
  Steps(const Steps&) = delete;
  ~Steps() {
    const Limits& before = state_.limits;
    for (const Resizable* what : resized_)
      (void)set_size(*what, size_in(before, *what), state_.ids());
    if (cgroup_changed_) (void)set_cgroup(wanted_, before);
  }

  Result<void> take() {
    for (const Resizable& what : file_systems_) {
      const std::uint64_t bytes = size_in(wanted_, what);
      if (bytes == size_in(state_.limits, what)) continue;
      if (!what.context.valid()) return fixed(what);
      if (auto room = check_room(jail_, what, bytes); !room) return room;
      if (auto done = set_size(what, bytes, state_.ids()); !done) {
        renew_context(jail_, what);
        return done;
      }
      resized_.push_back(&what);
    }
    cgroup_changed_ = true;
    return set_cgroup(state_.limits, wanted_);
  }
  void keep() {
    resized_.clear();
    cgroup_changed_ = false;
  }

 private:
  std::uint64_t size_in(const Limits& limits, const Resizable& what) const {
    return &what == &file_systems_[0] ? limits.workspace_bytes : limits.tmp_bytes;
  }
  Error fixed(const Resizable& what) const {
    const bool is_on_disk = state_.contexts[1].valid();
    return {ErrorKind::unsupported, std::string("limits.") + what.limit + ": it cannot be changed",
            0,
            is_on_disk ? "the working directory is on the host's disk"
                       : "the jail was made without max_limits"};
  }
  Result<void> set_cgroup(const Limits& from, const Limits& to) const {
    if (!state_.cgroup) return {};
    const CgroupLeaf& leaf = *state_.cgroup;
    Result<void> done;
    if (from.processes != to.processes) done = leaf.set_process_limit(to.processes + 1);
    if (done && from.cpu_percent != to.cpu_percent) done = leaf.set_processor_limit(to.cpu_percent);
    // Last, since the kernel may end processes for it.
    if (done && from.memory_bytes != to.memory_bytes) {
      done = leaf.set_memory_limit(to.memory_bytes);
    }
    return done;
  }

  const Jail& jail_;
  Jail::State& state_;
  const Limits& wanted_;
  const std::array<Resizable, 2> file_systems_ = {
      {{"workspace_bytes", "/workspace", state_.contexts[0]},
       {"tmp_bytes", "/tmp", state_.contexts[1]}}};
  std::vector<const Resizable*> resized_;
  bool cgroup_changed_ = false;
};

}  // namespace

void set_process_limits(const Jail::State& jail, wire::Order& order) {
  // Where the kernel counts the processes of a cgroup, one that runs need not be told of more.
  const Limits& of_processes = jail.cgroup ? jail.max_limits : jail.limits;
  order.processes_limit = of_processes.processes + 1;
  order.file_limit = jail.limits.file_bytes;
  order.data_limit = private_mapping_limit(jail.limits.memory_bytes);
}

Result<void> Jail::change_limits(const LimitChange& change) {
  State& state = *state_;
  if (auto checked = check_runs(state); !checked) return checked;
  const Limits wanted = with(state.limits, change);
  if (auto checked = check_limits(wanted); !checked) return checked;
  if (auto within = check_within(wanted, state.max_limits); !within) return within;
  if (!state.cgroup && wanted.cpu_percent != state.limits.cpu_percent) {
    return Error{ErrorKind::unsupported, "limits.cpu_percent: the jail has no cgroup", 0,
                 "without one nothing slows a jail down (LauncherOptions::cgroups)"};
  }
  Steps steps(*this, state, wanted);
  if (auto taken = steps.take(); !taken) return taken;
  const Limits before = std::exchange(state.limits, wanted);
  wire::Order order{};
  order.type = wire::order_limits;
  order.serial = state.limits_serial + 1;
  order.memory_bytes =
      state.cgroup ? std::numeric_limits<std::uint64_t>::max() : wanted.memory_bytes;
  set_process_limits(state, order);
  if (::send(state.control.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    Error error = sending_error(what_is_done);
    state.limits = before;
    return error;
  }
  state.limits_serial = order.serial;
  steps.keep();
  return {};
}

bool Jail::limits_hold() const noexcept {
  return state_->held_limits_serial == state_->limits_serial;
}

}  // namespace jail
