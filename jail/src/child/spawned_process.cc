#include "child/spawned_process.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <initializer_list>

#include "child/arithmetic.h"
#include "child/channel.h"
#include "child/clocks.h"
#include "child/guest_start.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {
namespace {

// Another process of the jail can stop one that has not come to its execve, so the wait is bounded.
constexpr std::uint64_t longest_start_ns = 10'000 * ns_per_ms;

// The time to wait for room for a descriptor among those of the user that are in flight (unix(7),
// ETOOMANYREFS).
constexpr std::uint64_t patience_for_room_ns = 500 * ns_per_ms;
constexpr std::uint64_t pause_for_room_ns = ns_per_ms;
constexpr std::uint64_t last_try_ns = ~std::uint64_t{0};

constexpr std::uint64_t pause_between_cpu_looks_ns = 20 * ns_per_ms;

// A report counts microseconds; a program that has run shows at least one.
constexpr std::uint64_t min_run_ns = 1000;

constexpr int highest_signal = 64;

// A process that is killed on the way to its execve closes its start report without a word, as one
// that executes does. Where nothing can be read about it, it counts as a program that runs. So does
// a process whose execve, called by another thread, is making that thread the first one: for a
// moment it has not executed, but it is not leaving either.
bool was_killed_before(int proc, int pid) {
  ProcessStat stat;
  return read_stat(proc, Number(static_cast<std::uint64_t>(pid)).text, stat) &&
         !stat.has_executed() && (stat.has_ended() || stat.is_leaving());
}

void close(int& fd) {
  if (fd >= 0) raw::call(SYS_close, fd);
  fd = -1;
}

}  // namespace

bool SpawnedProcess::is_free() const { return pid_ == 0 && control_ < 0 && !is_joining(); }

void SpawnedProcess::begin(int pid, const Given& given, const wire::Order& order,
                           std::uint64_t now) {
  pid_ = pid;
  take_over(given, order, now);
  tell_spawned(now);
}

void SpawnedProcess::begin_fork(const Given& given, const ToFork& needs, const wire::Order& order,
                                std::uint64_t now) {
  pid_ = 0;
  take_over(given, order, now);
  needs_ = needs;
  is_told_ = true;  // no owner needs a report of its end yet
}

void SpawnedProcess::ask(const ZygoteRequest& zygote) {
  int ends[2];
  long done =
      raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends));
  if (done == 0) {
    start_report_ = ends[0];
    done = zygote.ask(ends[1], needs_.invocation, needs_.streams, wire::guest_in_company);
    raw::call(SYS_close, ends[1]);
  }
  let_go_of_needs();
  const bool has_ended = done == -EPIPE || done == -ECONNRESET;
  if (done < 0) {
    fail_to_start(has_ended ? wire::no_zygote : wire::refused_by_kernel,
                  static_cast<std::int32_t>(-done));
  }
}

void SpawnedProcess::let_go_of_needs() {
  close(needs_.invocation);
  for (int& stream : needs_.streams) close(stream);
}

void SpawnedProcess::take_over(const Given& given, const wire::Order& order, std::uint64_t now) {
  control_ = given.control;
  start_report_ = given.start_report;
  terminal_ = given.terminal;
  is_told_ = false;
  listener_ = given.listener;
  cause_ = wire::cause_none;
  begin_ns_ = now;
  wall_ns_ = order.wall_ns;
  cpu_ns_ = order.cpu_ns;
  next_cpu_look_ns_ = now;
  limits_[0] = {RLIMIT_DATA, order.data_limit};
  limits_[1] = {RLIMIT_CPU, order.cpu_limit_s};
  limits_[2] = {RLIMIT_NPROC, order.processes_limit};
  limits_[3] = {RLIMIT_FSIZE, order.file_limit};
  exec_ns_ = 0;
  has_held_order_ = false;
}

// This message comes before all others about the process. There may be no room in flight for a
// descriptor, for a moment in which init has others to look after. An owner that missed this
// message would wait for a terminal that does not come.
void SpawnedProcess::tell_spawned(std::uint64_t now) {
  wire::Message message{};
  message.type = wire::message_spawned;
  message.pid = pid_;
  const long sent =
      send_bytes(control_, &message, sizeof message, &terminal_, terminal_ >= 0 ? 1 : 0);
  if (sent == -ETOOMANYREFS && now < begin_ns_ + patience_for_room_ns) {
    next_try_ns_ = now + pause_for_room_ns;
    return;
  }
  is_told_ = true;
  close(terminal_);
  if (sent < 0) let_go_of_owner();
}

std::uint64_t SpawnedProcess::next_deadline_ns() const {
  const std::uint64_t deadline = begin_ns_ + wall_ns_;
  if (is_joining()) return smaller(deadline, begin_ns_ + longest_start_ns);
  if (pid_ == 0 || cause_ != wire::cause_none) return ~std::uint64_t{0};
  if (!is_told_) return smaller(deadline, next_try_ns_);
  if (exec_ns_ == 0) return smaller(deadline, begin_ns_ + longest_start_ns);
  return cpu_ns_ != 0 ? smaller(deadline, next_cpu_look_ns_) : deadline;
}

void SpawnedProcess::expire(std::uint64_t now) {
  if (now < next_deadline_ns()) return;
  if (is_joining()) {
    // A fork that has joined by now finds nobody at the other end, and ends.
    if (now < begin_ns_ + wall_ns_) {
      fail_to_start(wire::no_start_in_time, ETIMEDOUT);
      return;
    }
    cause_ = wire::cause_deadline;
    siginfo_t nobody{};
    nobody.si_code = CLD_KILLED;
    nobody.si_status = SIGKILL;
    note_end(nobody, {}, now);
    return;
  }
  if (!is_told_) {
    tell_spawned(now);
    if (cause_ != wire::cause_none || now < next_deadline_ns()) return;
  }
  if (now >= begin_ns_ + wall_ns_) {
    cause_ = wire::cause_deadline;
  } else if (exec_ns_ == 0) {
    cause_ = wire::cause_deadline;
    fail_to_start(wire::no_start_in_time, ETIMEDOUT);
  } else if (cpu_ns_of(pid_, clock_sum) > cpu_ns_) {
    cause_ = wire::cause_cpu;
  } else {
    next_cpu_look_ns_ = now + pause_between_cpu_looks_ns;
    return;
  }
  kill();
}

// Kills the process's group too, which it leads unless it has left it. The kernel keeps the number
// of a process until init has reaped it.
void SpawnedProcess::kill() const {
  raw::call(SYS_kill, pid_, SIGKILL);
  raw::call(SYS_kill, -pid_, SIGKILL);
}

void SpawnedProcess::tell_running(std::uint64_t now) {
  exec_ns_ = now;
  wire::Message message{};
  message.type = wire::message_running;
  message.pid = pid_;
  send(message);
}

bool SpawnedProcess::read_start_report(int proc, std::uint64_t now) {
  if (start_report_ < 0) return false;
  if (!is_told_) tell_spawned(last_try_ns);
  Failure failure;
  const StartReport heard = take_start_report(start_report_, listener_->notices, failure);
  if (start_report_ < 0) end_start();
  if (heard == StartReport::failed) {
    if (control_ >= 0) send_failure(control_, 1, failure.index, failure.error);
    close(control_);
  }
  if (heard != StartReport::running || was_killed_before(proc, pid_)) return false;
  tell_running(now);
  return true;
}

void SpawnedProcess::fail_to_start(std::int32_t index, std::int32_t error) {
  if (control_ >= 0) send_failure(control_, 1, index, error);
  close(control_);
  end_start();
}

bool SpawnedProcess::read_guest_report() {
  wire::GuestReport guest{};
  for (;;) {
    int fd = -1;
    std::size_t fds = 0;
    const long got = receive(start_report_, &guest, sizeof guest, &fd, 1, &fds, MSG_DONTWAIT);
    if (got == -EAGAIN || got == -EINTR) return false;
    if (fds == 1) {
      listener_->notices.listen(fd);
      continue;
    }
    if (got != sizeof guest) guest = {-1, ECHILD, 0, 0, 0, 0};
    break;
  }
  // A process that was reaped before this was read has no number any more.
  siginfo_t ended{};
  if (guest.error == 0) {
    guest.error = static_cast<std::int32_t>(-raw::call(
        SYS_waitid, P_PID, guest.pid, raw::address(&ended), WEXITED | WNOHANG | WNOWAIT, 0));
  }
  if (guest.error != 0) {
    fail_to_start(guest.index, guest.error);
    return false;
  }
  pid_ = guest.pid;
  tell_spawned(last_try_ns);
  if (ended.si_pid == 0) return true;
  end_start();  // it has died since, and is reaped as a process that has not run
  return false;
}

// Sets the limits of the plan, of which the order may lower some.
long SpawnedProcess::set_limits(const wire::PlanHeader& plan, const char* base) const {
  const auto* call =
      reinterpret_cast<const wire::Call*>(base + plan.calls_offset) + plan.init_calls;
  for (std::uint32_t left = plan.guest_calls; left > 0; --left, ++call) {
    if (call->number != SYS_prlimit64) continue;
    const long resource = call->argument[1];
    const auto* pair = reinterpret_cast<const std::uint64_t*>(base + call->argument[2]);
    std::uint64_t most = pair[1];
    for (const Limit& ordered : limits_) {
      if (ordered.resource == resource) most = smaller(most, ordered.most);
    }
    const long done = lower_limit_of(pid_, resource, most, SoftLimit::follows);
    if (done != 0) return done;
  }
  return 0;
}

bool SpawnedProcess::release(std::uint64_t now, const wire::PlanHeader& plan, const char* base) {
  long done = set_limits(plan, base);
  const char go = 1;
  if (done == 0 && control_ >= 0) done = send_bytes(start_report_, &go, sizeof go, nullptr, 0);
  end_start();
  if (done < 0 || control_ < 0) {
    kill();
    return false;
  }
  tell_running(now);
  return true;
}

bool SpawnedProcess::read_order(bool is_paused) {
  // Only the owner's end was waited for.
  if (control_events() == 0) {
    let_go_of_owner();
    return true;
  }
  wire::ProcessOrder order{};
  const long got = receive(control_, &order, sizeof order, nullptr, 0, nullptr, MSG_DONTWAIT);
  if (got == -EAGAIN || got == -EINTR) return false;
  if (got != sizeof order || order.signal < 0 || order.signal > highest_signal) {
    let_go_of_owner();
    return true;
  }
  if (is_paused && order.signal != SIGKILL) {
    held_order_ = order;
    has_held_order_ = true;
    return false;
  }
  pass_on(order);
  return order.signal == SIGKILL;
}

void SpawnedProcess::pass_on(const wire::ProcessOrder& order) const {
  if (pid_ == 0) return;
  raw::call(SYS_kill, order.type == wire::signal_group ? -pid_ : pid_, order.signal);
}

void SpawnedProcess::go_on(std::uint64_t paused_ns) {
  for (std::uint64_t* moment : {&begin_ns_, &next_try_ns_, &next_cpu_look_ns_}) {
    *moment += paused_ns;
  }
  if (exec_ns_ != 0) exec_ns_ += paused_ns;
  if (has_held_order_) pass_on(held_order_);
  has_held_order_ = false;
}

void SpawnedProcess::let_go_of_owner() {
  close(control_);
  if (is_to_be_asked_for()) end_start();
  if (pid_ == 0) return;
  cause_ = wire::cause_cancelled;
  kill();
}

void SpawnedProcess::end_with_jail(wire::Cause cause) {
  if (cause_ == wire::cause_none) cause_ = cause;
}

void SpawnedProcess::end_start() {
  close(start_report_);
  let_go_of_needs();
  if (listener_ != nullptr) listener_->is_lent = false;
  listener_ = nullptr;
}

void SpawnedProcess::note_end(const siginfo_t& ended, const rusage& usage, std::uint64_t now) {
  end_start();
  wire::Message message{};
  message.type = wire::message_ended;
  message.pid = pid_;
  message.cause = cause_;
  message.wait_code = ended.si_code;
  message.wait_status = ended.si_status;
  message.cpu_user_us = microseconds(usage.ru_utime);
  message.cpu_system_us = microseconds(usage.ru_stime);
  message.memory_peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  const bool has_run = exec_ns_ != 0;
  message.started_ns = beyond(has_run ? exec_ns_ : now, begin_ns_);
  message.ran_ns = has_run ? larger(beyond(now, exec_ns_), min_run_ns) : 0;
  send(message);
  close(control_);
  pid_ = 0;
}

void SpawnedProcess::send(const wire::Message& message) const {
  if (control_ >= 0) send_message(control_, message);
}

}  // namespace jail::child
