#include "child/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <initializer_list>

#include "child/arithmetic.h"
#include "child/channel.h"
#include "child/children.h"
#include "child/clocks.h"
#include "child/guest_calls.h"
#include "child/guest_signals.h"
#include "child/guest_start.h"
#include "child/held_limits.h"
#include "child/living.h"
#include "child/notices.h"
#include "child/program_end.h"
#include "child/program_pipe.h"
#include "child/raw_syscall.h"
#include "child/shown_variables.h"
#include "child/terminal.h"
#include "child/watch.h"
#include "child/zygote_request.h"

namespace jail::child {
namespace {

// An interpreter that needs longer than this to ask for its program hangs.
constexpr std::uint64_t longest_start_ns = 30'000 * ns_per_ms;

class Init {
 public:
  Init(const wire::PlanHeader& plan, char* base, long* slots, std::uint32_t guest_work)
      : plan_(plan),
        base_(base),
        slots_(slots),
        guest_work_(guest_work),
        control_(static_cast<int>(slots[wire::slot_control])),
        watch_(static_cast<int>(slots[wire::slot_proc]),
               static_cast<int>(slots[wire::slot_workspace]),
               static_cast<int>(slots[wire::slot_tmp]), plan) {}

  void run() {
    signals_ = open_child_signals();
    if ((is_forked() && !join_guest()) || (is_started() && !spawn_early())) return;
    wire::Message ready{};
    ready.type = wire::message_ready;
    const long sent = send_message(control_, ready, static_cast<int>(slots_[wire::slot_workspace]));
    if (sent < 0) report_errno(sent);
    if (sent < 0 || !await_order() || !release()) return;
    while (!guest_ended_ && !guest_leaves_ && cause_ == wire::cause_none && !owner_gone_ &&
           !start_failed_) {
      step();
    }
    if (owner_gone_ || start_failed_) return;
    end();
    if (plan_.kind != wire::plan_cold) let_owner_go_on(control_);
    // The kernel closes init's listener, by which the guest's call would fail and the guest go on,
    // before it kills what is left in init's namespace.
    raw::call(SYS_kill, -1, SIGKILL);
  }

 private:
  bool is_forked() const { return plan_.kind == wire::plan_forked; }
  bool is_started() const { return plan_.kind == wire::plan_started; }

  // Asks the zygote to fork a guest that joins this jail and becomes init's own child. Returns
  // false where it could not, which the owner has been told.
  bool join_guest() {
    wire::GuestReport guest{-1, EIO, 0, 0, 0, 0};
    int ends[2];
    long done =
        raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends));
    if (done == 0) {
      done = ask_zygote(ends[1]);
      raw::call(SYS_close, ends[1]);
    }
    drop_lent();
    if (done >= 0) done = await_guest(ends[0], guest);
    if (done < 0) guest.error = static_cast<std::int32_t>(-done);
    // The guest has joined; from here on no process of this user can reach init any more.
    if (guest.error == 0) {
      guest.error = static_cast<std::int32_t>(-raw::call(SYS_prctl, PR_SET_DUMPABLE, 0));
    }
    if (guest.error != 0 || signals_ < 0) {
      send_failure(control_, 1, guest.index, guest.error);
      return false;
    }
    channel_ = ends[0];
    guest_ = guest.pid;
    watch_.note_inherited();
    watch_.note_open_files(static_cast<int>(guest_));
    if ((guest_work_ & wire::guest_ends_early) != 0) expect_end();
    user_before_us_ = guest.cpu_user_us;
    system_before_us_ = guest.cpu_system_us;
    return true;
  }

  // Reads the guest's report, or its zygote's in its place, after the descriptor of its notices.
  long await_guest(int channel, wire::GuestReport& guest) {
    for (;;) {
      pollfd watched[2] = {{channel, POLLIN, 0}, {notices_.descriptor(), POLLIN, 0}};
      raw::call(SYS_ppoll, raw::address(watched), 2, 0, 0);
      if (watched[1].revents != 0) hear_early_notice(watched[1].revents);
      if (watched[0].revents == 0) continue;
      int fd = -1;
      std::size_t fds = 0;
      const long got = receive(channel, &guest, sizeof guest, &fd, 1, &fds, 0);
      if (fds == 1) {
        notices_.listen(fd);
      } else if (got != -EINTR) {
        return got;
      }
    }
  }

  // Answers a notice of a guest that has not been given its program yet.
  void hear_early_notice(short events) {
    Notice notice{};
    if (notices_.take(events, notice))
      answer_call(notices_, shared_, watch_, notice, no_memory_limit);
  }

  long ask_zygote(int channel) {
    const auto descriptor = [this](wire::Slot slot) { return static_cast<int>(slots_[slot]); };
    const int streams[3] = {descriptor(wire::slot_stdin), descriptor(wire::slot_stdout),
                            descriptor(wire::slot_stderr)};
    const ZygoteRequest zygote(descriptor(wire::slot_zygote), descriptor(wire::slot_cgroup));
    return zygote.ask(channel, descriptor(wire::slot_invocation), streams, guest_work_, 0);
  }

  // From here on only the guest holds its streams, so that their end is seen outside.
  void drop_lent() {
    constexpr wire::Slot lent[] = {wire::slot_stdin,  wire::slot_stdout,     wire::slot_stderr,
                                   wire::slot_cgroup, wire::slot_invocation, wire::slot_zygote};
    for (const wire::Slot slot : lent) {
      if (slots_[slot] >= 0) raw::call(SYS_close, slots_[slot]);
    }
  }

  bool release() {
    if (is_forked()) return release_forked();
    return is_started() ? release_started() : start_program();
  }

  // Lowers the limits of a guest that runs already.
  long lower_limits() const {
    const long done =
        lower_planned_limit(guest_, RLIMIT_DATA, base_, plan_.data_limit_offset, order_.data_limit);
    if (done != 0) return done;
    return lower_planned_limit(guest_, RLIMIT_CPU, base_, plan_.cpu_limit_offset,
                               order_.cpu_limit_s);
  }

  void begin_watch() {
    begin_ns_ = now_ns();
    exec_ns_ = begin_ns_;
    limits_.begin(begin_ns_, order_);
    // Time that was used while the guest was made does not count for this run.
    order_.cpu_ns += (user_before_us_ + system_before_us_) * 1000;
  }

  // Lets the waiting guest go, under the limits of this run.
  bool release_forked() {
    long done = lower_limits();
    begin_watch();
    const char go = 1;
    if (done == 0) done = send_bytes(channel_, &go, sizeof go, nullptr, 0);
    // A socket that stays open is listed in the guest's /proc/self/net/unix.
    raw::call(SYS_close, channel_);
    return done >= 0 || report_errno(done);
  }

  // Starts the guest before there is an order, up to the point where it asks for its program.
  // Returns false where it did not get there; the owner has been told or is gone.
  bool spawn_early() {
    const auto* name = base_ + plan_.program_offset;
    const long made = program_.make(static_cast<int>(slots_[wire::slot_workspace]), name);
    if (made < 0) return report_errno(made);
    if (!spawn_guest()) return false;
    const std::uint64_t deadline = now_ns() + longest_start_ns;
    long met = 0;
    while (met == 0) {
      pollfd watched[4] = {{control_, POLLIN, 0},
                           {signals_, POLLIN, 0},
                           {start_report_, POLLIN, 0},
                           {notices_.descriptor(), POLLIN, 0}};
      const timespec pause{0, ns_per_ms};
      raw::call(SYS_ppoll, raw::address(watched), 4, raw::address(&pause), 0);
      if (watched[0].revents != 0) return false;  // there can be no order yet
      if (watched[2].revents != 0) read_start_report();
      if (watched[3].revents != 0) hear_early_notice(watched[3].revents);
      if (watched[1].revents != 0) reap_ended();
      if (start_failed_) return false;
      if (exec_ns_ != 0) met = program_.meet_reader();
      if (met == 0 && guest_ended_) met = -ECHILD;
      if (met == 0 && now_ns() > deadline) met = -ETIMEDOUT;
    }
    // What is beside the guest waits as well, so the path of a program needs no look at it.
    helpers_before_us_ = beyond(limits_.exact_cpu_ns(), cpu_ns_of(guest_, clock_sum)) / 1000;
    const std::uint64_t shown = plan_.shown_variables_bytes;
    if (met > 0 && shown != 0) {
      met = show_variables(static_cast<int>(slots_[wire::slot_proc]), guest_,
                           base_ + plan_.shown_variables_offset, shown);
    }
    return met >= 0 || report_errno(met);
  }

  // Gives the waiting guest its program.
  bool release_started() {
    note_use_so_far();
    long done = lower_limits();
    begin_watch();
    if (done == 0) done = program_.begin_pouring();
    return done >= 0 || report_errno(done);
  }

  // Only the sum is noted: its parts are taken to be as in the whole run, see split_use_before().
  void note_use_so_far() {
    user_before_us_ = helpers_before_us_ + cpu_ns_of(guest_, clock_sum) / 1000;
  }

  // Returns false where the owner is gone or took the jail back before it ran anything, or where
  // the waiting guest has died, which the owner hears before it gives this jail a program.
  bool await_order() {
    for (;;) {
      pollfd watched[2] = {{control_, POLLIN, 0}, {signals_, POLLIN, 0}};
      raw::call(SYS_ppoll, raw::address(watched), guest_ != 0 ? 2 : 1, 0, 0);
      if (watched[1].revents != 0) reap_ended();
      if (guest_ended_) return report_errno(-ECHILD);
      if (watched[0].revents == 0) continue;
      const long got = receive(control_, &order_, sizeof order_, nullptr, 0, nullptr, 0);
      if (got == -EINTR) continue;
      if (got != sizeof order_) return false;
      if (order_.type == wire::order_start) return true;
      cause_ = wire::cause_cancelled;
      report(wire::message_ended);
      return false;
    }
  }

  void split_use_before(std::uint64_t user_us, std::uint64_t system_us) {
    const std::uint64_t before = user_before_us_ + system_before_us_;
    const std::uint64_t all = user_us + system_us;
    if (all == 0) return;
    user_before_us_ = before * user_us / all;
    system_before_us_ = before - user_before_us_;
  }

  bool start_program() {
    begin_ns_ = now_ns();
    lower_limit(base_, plan_.data_limit_offset, order_.data_limit);
    lower_limit(base_, plan_.cpu_limit_offset, order_.cpu_limit_s);
    limits_.begin(begin_ns_, order_);
    const long given = order_.columns != 0 ? give_terminal(control_, order_, slots_) : 0;
    if (given < 0) return report_errno(given);
    return spawn_guest();
  }

  bool spawn_guest() {
    const long pid = fork_guest(start_report_,
                                [this](int report) { start_guest(plan_, base_, slots_, report); });
    if (pid < 0 || signals_ < 0) return report_errno(pid < 0 ? pid : signals_);
    guest_ = pid;
    drop_lent();
    return true;
  }

  void step() {
    const std::uint64_t now = now_ns();
    const std::uint64_t deadline = begin_ns_ + order_.wall_ns;
    if (now >= deadline) {
      cause_ = wire::cause_deadline;
      return;
    }
    // Before its execve the guest is a part of init.
    if (exec_ns_ != 0 && now >= limits_.next_look_ns()) {
      cause_ = limits_.look(order_);
      if (cause_ != wire::cause_none) return;
    }
    const std::uint64_t wake =
        exec_ns_ != 0 && limits_.next_look_ns() < deadline ? limits_.next_look_ns() : deadline;
    const std::uint64_t pause = wake > now ? wake - now : 0;
    timespec timeout{static_cast<time_t>(pause / 1'000'000'000u),
                     static_cast<long>(pause % 1'000'000'000u)};
    pollfd watched[5] = {{control_, POLLIN, 0},
                         {signals_, POLLIN, 0},
                         {start_report_, POLLIN, 0},
                         {program_.descriptor(), POLLOUT, 0},
                         {notices_.descriptor(), POLLIN, 0}};
    if (raw::call(SYS_ppoll, raw::address(watched), 5, raw::address(&timeout), 0) <= 0) return;
    if (watched[3].revents != 0) program_.pour();
    if (watched[2].revents != 0) read_start_report();
    if (watched[1].revents != 0) reap_ended();
    if (watched[4].revents != 0) hear_notice(watched[4].revents);
    if (watched[0].revents != 0 && !guest_ended_ && !guest_leaves_) read_order();
  }

  void read_start_report() {
    Failure failure;
    switch (take_start_report(start_report_, notices_, failure)) {
      case StartReport::nothing_yet:
        break;
      case StartReport::failed:
        send_failure(control_, 1, failure.index, failure.error);
        start_failed_ = true;
        break;
      case StartReport::running:
        exec_ns_ = now_ns();
        watch_.note_open_files(static_cast<int>(guest_));
        guest_signals_.pass_on(guest_);
        break;
    }
  }

  // Reports an errno outside of the plan to the owner. Always returns false.
  bool report_errno(long result) {
    send_failure(control_, 1, -1, static_cast<std::int32_t>(-result));
    return false;
  }

  // When the program's own process ends, it stays in its call until it is killed with the jail, so
  // that none of its instructions runs any more. Every other process is let go.
  void hear_notice(short events) {
    Notice notice{};
    if (!notices_.take(events, notice)) return;
    if (notice.kind == NoticeKind::end &&
        watch_.is_thread_of(notice.thread, static_cast<int>(guest_))) {
      guest_leaves_ = true;
      leave_ = notice;
      guest_end_ns_ = now_ns();
      wait_code_ = CLD_EXITED;
      wait_status_ = notice.status;
    } else {
      answer_call(notices_, shared_, watch_, notice, order_.memory_bytes);
    }
  }

  void reap_ended() {
    drain_child_signals(signals_);
    while (reap_one(WNOHANG)) {
    }
  }

  bool reap_one(int flags) {
    siginfo_t ended{};
    const long result = raw::call(SYS_waitid, P_ALL, 0, raw::address(&ended), WEXITED | flags, 0);
    if (result == -EINTR) return true;
    if (result < 0 || ended.si_pid == 0) return false;
    watch_.note_reaped(ended.si_pid);
    if (ended.si_pid == guest_) {
      guest_ended_ = true;
      if (guest_leaves_) return true;
      guest_end_ns_ = now_ns();
      wait_code_ = ended.si_code;
      wait_status_ = ended.si_status;
    }
    return true;
  }

  void read_order() {
    wire::Order order{};
    const long got = receive(control_, &order, sizeof order, nullptr, 0, nullptr, MSG_DONTWAIT);
    if (got == -EAGAIN || got == -EINTR) return;
    if (got != sizeof order) {
      owner_gone_ = true;
    } else if (order.type == wire::order_cancel) {
      cause_ = wire::cause_cancelled;
    } else if (order.type == wire::order_signal) {
      guest_signals_.add(order.signal);
      // Before its execve the guest is a part of init.
      if (exec_ns_ != 0) guest_signals_.pass_on(guest_);
    }
  }

  void end() {
    const std::uint64_t decided = now_ns();
    // A guest that was killed before its execve had finished sent no report, and has ended as well.
    ran_until_ns_ = guest_end_ns_ != 0 && guest_end_ns_ < decided ? guest_end_ns_ : decided;
    if (guest_leaves_ && has_stopped()) {
      unreaped_.count_time_of(guest_);
    } else {
      end_all();
    }
    report(wire::message_ended);
  }

  void expect_end() {
    program_end_.expect(static_cast<int>(slots_[wire::slot_proc]), static_cast<int>(guest_));
  }

  // Returns whether nothing of the program, which must have one process, can run any more.
  bool has_stopped() {
    if (!program_end_.is_expected()) expect_end();
    // A thread that executes a program meanwhile ends the call, in the name of the process.
    const bool alone = program_end_.is_alone() && notices_.is_waiting(leave_);
    unreaped_.memory_peak = program_end_.memory_peak();
    return alone || program_end_.kill_threads();
  }

  // kill() reaches every process of this pid namespace but init itself. A fork that races with the
  // signal is found by the next round. The kernel may need longer to take memory apart than the
  // owner waits, so what is known is reported first.
  void end_all() {
    if (raw::call(SYS_kill, -1, 0) != 0) return;
    // Children of a parent that ignores SIGCHLD leave no trace of their time once they are killed.
    limits_.look_at_processor_time();
    raw::call(SYS_kill, -1, SIGKILL);
    report(wire::message_ending);
    while (reap_one(0)) raw::call(SYS_kill, -1, SIGKILL);
  }

  void report(wire::MessageType type) {
    wire::Message message{};
    message.type = type;
    message.cause = cause_;
    if (cause_ == wire::cause_memory) message.processes = watch_.processes();
    message.wait_code = wait_code_;
    message.wait_status = wait_status_;
    if (guest_ != 0) {
      const rusage usage = reaped_usage();
      std::uint64_t user = microseconds(usage.ru_utime) + unreaped_.user_us;
      const std::uint64_t system = microseconds(usage.ru_stime) + unreaped_.system_us;
      // What nobody waited for is in no counter any more: see KnownProcesses.
      user += beyond(limits_.cpu_ns() / 1000, user + system);
      if (is_started()) split_use_before(user, system);
      message.cpu_user_us = beyond(user, user_before_us_);
      message.cpu_system_us = beyond(system, system_before_us_);
      // These two figures include mapped files, which no limit covers.
      const std::uint64_t resident =
          larger(static_cast<std::uint64_t>(usage.ru_maxrss) * 1024, unreaped_.memory_peak);
      message.memory_peak_bytes =
          larger(limits_.memory_peak(), smaller(resident, order_.memory_bytes));
      const std::uint64_t running = exec_ns_ != 0 ? exec_ns_ : begin_ns_;
      message.started_ns = running - begin_ns_;
      message.ran_ns = ran_until_ns_ > running ? ran_until_ns_ - running : 0;
      message.ended_ns = now_ns() - ran_until_ns_;
    }
    send_message(control_, message);
  }

  const wire::PlanHeader& plan_;
  char* base_;
  long* slots_;
  std::uint32_t guest_work_;
  int control_;
  Watch watch_;
  HeldLimits limits_{watch_};
  wire::Order order_{};
  GuestSignals guest_signals_;
  wire::Cause cause_ = wire::cause_none;
  bool owner_gone_ = false;
  bool start_failed_ = false;
  bool guest_leaves_ = false;  // it waits in exit_group()
  Notice leave_{};             // the notice of that call
  bool guest_ended_ = false;
  long guest_ = 0;
  Notices notices_;
  SharedMemory shared_;
  int signals_ = -1;
  int start_report_ = -1;
  int channel_ = -1;                     // the channel to a forked guest that waits
  ProgramPipe program_;                  // of a started guest
  std::uint64_t helpers_before_us_ = 0;  // the use of other processes beside a guest that waits
  std::uint64_t user_before_us_ = 0;
  std::uint64_t system_before_us_ = 0;
  std::int32_t wait_code_ = 0;
  std::int32_t wait_status_ = 0;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t exec_ns_ = 0;
  std::uint64_t guest_end_ns_ = 0;
  std::uint64_t ran_until_ns_ = 0;
  ProgramEnd program_end_;
  UnreapedUse unreaped_;  // of a guest that waits in exit_group(), or that was killed
};

}  // namespace

void supervise(const wire::PlanHeader& plan, char* base, long* slots, std::uint32_t guest_work) {
  if (plan.kind == wire::plan_living) {
    supervise_living(plan, base, slots);
    return;
  }
  Init(plan, base, slots, guest_work).run();
}

}  // namespace jail::child
