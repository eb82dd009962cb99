#include "child/living.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
#include "child/guest_start.h"
#include "child/hand_over.h"
#include "child/held_limits.h"
#include "child/listeners.h"
#include "child/port_socket.h"
#include "child/process_limits.h"
#include "child/raw_syscall.h"
#include "child/spawned_places.h"
#include "child/spawned_process.h"
#include "child/standstill.h"
#include "child/terminal.h"
#include "child/watch.h"
#include "child/zygote_request.h"

namespace jail::child {
namespace {

constexpr int polled_of_process = 2;

class Living {
 public:
  Living(const wire::PlanHeader& plan, char* base, long* slots)
      : plan_(plan),
        base_(base),
        slots_(slots),
        control_(static_cast<int>(slots[wire::slot_control])),
        watch_(static_cast<int>(slots[wire::slot_proc]),
               plan.workspace_is_on_disk != 0 ? -1 : static_cast<int>(slots[wire::slot_workspace]),
               static_cast<int>(slots[wire::slot_tmp]), plan),
        zygote_(static_cast<int>(slots[wire::slot_zygote]),
                static_cast<int>(slots[wire::slot_cgroup])) {}

  void run() {
    signals_ = open_child_signals();
    if (zygote_.can_fork() && !try_fork()) return;
    close_streams();
    if (!hand_over(control_, signals_, slots_) || !await_start()) return;
    while (cause_ == wire::cause_none && !owner_gone_) is_paused_ ? hold() : step();
    if (!owner_gone_) end();
  }

 private:
  // Forks one process that runs nothing, while nobody else is there, to learn what each fork
  // inherits from the zygote. Returns false where that failed, which the owner has been told.
  bool try_fork() {
    const int streams[3] = {static_cast<int>(slots_[wire::slot_stdin]),
                            static_cast<int>(slots_[wire::slot_stdout]),
                            static_cast<int>(slots_[wire::slot_stderr])};
    wire::GuestReport guest{};
    const long channel =
        zygote_.fork_waiting(static_cast<int>(slots_[wire::slot_proc]), streams, guest);
    if (channel >= 0) watch_.note_inherited_by(guest.pid);
    if (channel >= 0) raw::call(SYS_close, channel);
    if (channel < 0) send_failure(control_, 1, guest.index, guest.error);
    return channel >= 0;
  }

  // A living jail has no use for the streams that came with the launch.
  void close_streams() {
    for (const wire::Slot stream : {wire::slot_stdin, wire::slot_stdout, wire::slot_stderr}) {
      raw::call(SYS_close, slots_[stream]);
    }
  }

  // Returns false where the owner is gone or took the jail back.
  bool await_start() {
    for (;;) {
      const long got = receive(control_, &order_, sizeof order_, nullptr, 0, nullptr, 0);
      if (got == -EINTR) continue;
      if (got != sizeof order_) return false;
      if (order_.type == wire::order_start) break;
      cause_ = wire::cause_cancelled;
      report(wire::message_ended);
      return false;
    }
    begin_ns_ = now_ns();
    limits_.begin(begin_ns_, order_);
    return true;
  }

  void step() {
    const std::uint64_t now = now_ns();
    std::uint64_t wake = begin_ns_ + order_.wall_ns;
    if (now >= wake) {
      cause_ = wire::cause_deadline;
      return;
    }
    // A jail without a process uses nothing more than before.
    if (has_processes_) {
      if (now >= limits_.next_look_ns()) {
        cause_ = limits_.look(order_);
        if (cause_ != wire::cause_none) return;
      }
      wake = smaller(wake, limits_.next_look_ns());
    }
    for (SpawnedProcess& process : processes_) process.expire(now);
    wake = smaller(wake, process_limits_.advance(processes_.spawned(), now));
    tell_of_limits();
    if (!standstill_.is_on()) ask_zygote();
    for (const SpawnedProcess& process : processes_) {
      wake = smaller(wake, process.next_deadline_ns());
    }
    await_events(beyond(wake, now));
  }

  // While all processes stand still, no clock runs and their memory does not grow.
  void hold() {
    const std::uint64_t now = now_ns();
    if (now >= standstill_.next_look_ns()) {
      const bool had_stopped = standstill_.state() == Standstill::State::still;
      if (!standstill_.look(now)) {
        send_answer(control_, wire::message_paused, pause_serial_, EBUSY);
        process_limits_.put_off(now);
        go_on();
        return;
      }
      if (!had_stopped && standstill_.state() == Standstill::State::still)
        send_answer(control_, wire::message_paused, pause_serial_, 0);
      process_limits_.settle(processes_.spawned());
    }
    tell_of_limits();
    await_events(beyond(standstill_.next_look_ns(), now_ns()));
  }

  void pause(const wire::Order& order) {
    pause_serial_ = order.serial;
    if (standstill_.state() == Standstill::State::still)
      send_answer(control_, wire::message_paused, pause_serial_, 0);
    if (is_paused_) return;
    is_paused_ = true;
    paused_at_ns_ = now_ns();
    if (!standstill_.is_on()) standstill_.begin(paused_at_ns_);
  }

  void change_limits(const wire::Order& order) {
    order_.memory_bytes = order.memory_bytes;
    limits_.look_at_once();
    process_limits_.lower(order, processes_.spawned(), has_processes_);
    process_limits_.settle(processes_.spawned());
  }

  void tell_of_limits() {
    const std::int32_t serial = process_limits_.take_held(processes_.spawned(), is_paused_);
    if (serial != 0) send_answer(control_, wire::message_limits, serial, 0);
  }

  void resume() {
    if (!is_paused_) return;
    if (!process_limits_.needs_standstill()) standstill_.end();
    go_on();
  }

  // Everything runs again.
  void go_on() {
    is_paused_ = false;
    const std::uint64_t paused_ns = beyond(now_ns(), paused_at_ns_);
    begin_ns_ += paused_ns;
    for (SpawnedProcess& process : processes_) process.go_on(paused_ns);
  }

  // The clock by which processes are measured; it stands still during a pause.
  std::uint64_t clock_ns() const { return is_paused_ ? paused_at_ns_ : now_ns(); }

  void await_events(std::uint64_t pause_ns) {
    timespec timeout{static_cast<time_t>(pause_ns / 1'000'000'000u),
                     static_cast<long>(pause_ns % 1'000'000'000u)};
    pollfd watched[2 + SpawnedPlaces::most * polled_of_process + Listeners::most];
    watched[0] = {control_, POLLIN, 0};
    watched[1] = {signals_, POLLIN, 0};
    const int processes = processes_.used();
    for (int i = 0; i < processes; ++i) {
      pollfd* of_process = watched + 2 + i * polled_of_process;
      of_process[0] = {awaited_report_of(processes_[i]), POLLIN, 0};
      of_process[1] = {processes_[i].control(), processes_[i].control_events(), 0};
    }
    const int listeners = listeners_.used();
    pollfd* of_listeners = watched + 2 + processes * polled_of_process;
    for (int i = 0; i < listeners; ++i) {
      of_listeners[i] = {listeners_[i].notices.descriptor(), POLLIN, 0};
    }
    if (raw::call(SYS_ppoll, raw::address(watched), of_listeners + listeners - watched,
                  raw::address(&timeout), 0) <= 0) {
      return;
    }
    for (int i = 0; i < processes; ++i) {
      const pollfd* of_process = watched + 2 + i * polled_of_process;
      if (of_process[0].revents != 0) read_start_report(processes_[i]);
      if (of_process[1].revents != 0) read_order_to(processes_[i]);
    }
    // Handles first the listeners that no process can call any more, so that the others can have
    // their memory.
    for (const bool calls : {false, true}) {
      for (int i = 0; i < listeners; ++i) {
        const short events = of_listeners[i].revents;
        if (events != 0 && calls == ((events & POLLIN) != 0)) hear_notice(listeners_[i], events);
      }
    }
    if (watched[1].revents != 0) reap_ended();
    if (watched[0].revents != 0) read_order();
    processes_.forget_free_ones();
    listeners_.forget_free_ones();
  }

  // A fork that joins during a pause has to wait for its order to run until the others go on.
  int awaited_report_of(const SpawnedProcess& process) const {
    return standstill_.is_on() && process.is_joining() ? -1 : process.start_report();
  }

  void read_order_to(SpawnedProcess& process) {
    if (process.read_order(is_paused_)) standstill_.excuse();
  }

  void read_start_report(SpawnedProcess& process) {
    if (process.is_joining()) {
      release(process);
      return;
    }
    if (!process.read_start_report(static_cast<int>(slots_[wire::slot_proc]), clock_ns())) return;
    watch_.note_started(process.pid());
    watch_.note_open_files(process.pid());
    process_limits_.note_started(processes_.spawned(), process);
  }

  // Releases a fork of the zygote, which is confined and waits for its order to run.
  void release(SpawnedProcess& process) {
    if (!process.read_guest_report()) return;
    has_processes_ = true;
    watch_.note_inherited_by(process.pid());
    watch_.note_open_files(process.pid());
    process.release(clock_ns(), plan_, base_);
    process_limits_.note_started(processes_.spawned(), process);
  }

  void hear_notice(Listener& listener, short events) {
    Notice notice{};
    if (listener.notices.take(events, notice)) {
      answer_call(listener.notices, listener.shared, watch_, notice, order_.memory_bytes);
    } else if (listener.notices.descriptor() < 0) {
      watch_.forget_shared(listener.shared);
    }
  }

  void read_order() {
    wire::Order order{};
    int fds[wire::spawn_fds_with_streams];
    std::size_t count = 0;
    const long got = receive(control_, &order, sizeof order, fds, wire::spawn_fds_with_streams,
                             &count, MSG_DONTWAIT);
    if (got == -EAGAIN || got == -EINTR) return;
    if (got != sizeof order) {
      owner_gone_ = true;
    } else if (order.type == wire::order_cancel) {
      cause_ = wire::cause_cancelled;
    } else if (order.type == wire::order_spawn || order.type == wire::order_fork) {
      spawn(order, fds, count);
    } else if (order.type == wire::order_socket_ipv4 || order.type == wire::order_socket_ipv6) {
      if (count == wire::socket_fds) hand_out_socket(order.type, fds[0]);
    } else if (order.type == wire::order_pause) {
      pause(order);
    } else if (order.type == wire::order_resume) {
      resume();
    } else if (order.type == wire::order_limits) {
      change_limits(order);
    }
    close_all(fds, count);
  }

  // Spawns a process. `fds` are its control socket, its Command or Invocation and its streams. The
  // caller closes what is left of them; a descriptor that is taken over becomes -1.
  void spawn(const wire::Order& order, int* fds, std::size_t count) {
    const bool has_terminal = order.columns != 0;
    if (count != (has_terminal ? wire::spawn_fds_with_terminal : wire::spawn_fds_with_streams)) {
      return;  // the owner finds the socket closed
    }
    const Failure failure = make(order, fds, has_terminal);
    if (failure.error != 0) send_failure(fds[0], 1, failure.index, failure.error);
  }

  Failure make(const wire::Order& order, int* fds, bool has_terminal) {
    SpawnedProcess* place = processes_.free_one();
    if (place == nullptr) return {wire::no_place_for_process, EAGAIN};
    Listener* listener = listeners_.lend();
    if (listener == nullptr) return {wire::no_place_for_listener, EAGAIN};
    Terminal terminal;
    const auto terminals = static_cast<int>(slots_[wire::slot_terminals]);
    long done = has_terminal ? open_terminal(terminals, order, terminal) : 0;
    const bool none_left = done == -ENOSPC;
    if (done == 0) {
      done = order.type == wire::order_fork ? begin_fork(*place, *listener, order, fds)
                                            : begin(*place, *listener, order, fds, terminal);
    }
    if (terminal.slave >= 0) raw::call(SYS_close, terminal.slave);
    if (done < 0) {
      listener->is_lent = false;
      if (terminal.master >= 0) raw::call(SYS_close, terminal.master);
    }
    return {none_left ? wire::no_terminal : wire::refused_by_kernel,
            static_cast<std::int32_t>(-done)};
  }

  // Returns 0 or a negative errno.
  long begin(SpawnedProcess& place, Listener& listener, const wire::Order& order, const int* fds,
             const Terminal& terminal) {
    const long control = raw::call(SYS_fcntl, fds[0], F_DUPFD_CLOEXEC, 0);
    if (control < 0) return control;
    int start_report = -1;
    const long pid =
        fork_guest(start_report, [&](int report) { become_process(order, fds, terminal, report); });
    if (pid < 0) {
      raw::call(SYS_close, control);
      return pid;
    }
    has_processes_ = true;
    watch_.note_starting(static_cast<int>(pid));
    place.begin(static_cast<int>(pid),
                {static_cast<int>(control), start_report, terminal.master, &listener}, order,
                now_ns());
    return 0;
  }

  // The same for a fork of the zygote, which takes over all of `fds`.
  long begin_fork(SpawnedProcess& place, Listener& listener, const wire::Order& order, int* fds) {
    if (!zygote_.can_fork()) return -EINVAL;
    place.begin_fork({fds[0], -1, -1, &listener}, {fds[1], {fds[2], fds[3], fds[4]}}, order,
                     now_ns());
    for (std::size_t i = 0; i < wire::spawn_fds_with_streams; ++i) fds[i] = -1;
    return 0;
  }

  // Asks for as many forks as may join at a time, in the order of their requests.
  void ask_zygote() {
    while (SpawnedProcess* next = processes_.next_to_ask_for()) next->ask(zygote_);
  }

  // Runs in the child: the plan and the slots are copies of its own.
  [[noreturn]] void become_process(const wire::Order& order, const int* fds,
                                   const Terminal& terminal, int report) {
    const bool has_terminal = terminal.slave >= 0;
    for (int i = 0; i < 3; ++i) {
      slots_[wire::slot_stdin + i] = has_terminal ? terminal.slave : fds[2 + i];
    }
    slots_[wire::slot_terminal] = terminal.slave;
    lower_limits(plan_, base_, order);
    const long mapped = map_command(fds[1], slots_);
    if (mapped == 0) start_guest(plan_, base_, slots_, report);
    fail_start(report, {-1, static_cast<std::int32_t>(-mapped)});
  }

  void reap_ended() {
    drain_child_signals(signals_);
    while (reap_one(WNOHANG)) {
    }
    standstill_.look_soon();
  }

  // Orphans of the jail are init's children too, whoever forked them.
  bool reap_one(int flags) {
    siginfo_t ended{};
    const long result =
        raw::call(SYS_waitid, P_ALL, 0, raw::address(&ended), WEXITED | WNOWAIT | flags, 0);
    if (result == -EINTR) return true;
    if (result == -ECHILD) has_processes_ = false;
    if (result < 0 || ended.si_pid == 0) return false;
    SpawnedProcess* process = processes_.find(ended.si_pid);
    // Until the child is reaped the kernel says whether it came to its program.
    if (process != nullptr) read_start_report(*process);
    rusage usage{};
    while (raw::call(SYS_waitid, P_PID, ended.si_pid, raw::address(&ended), WEXITED,
                     raw::address(&usage)) == -EINTR) {
    }
    watch_.note_reaped(ended.si_pid);
    if (process != nullptr) process->note_end(ended, usage, clock_ns());
    return true;
  }

  // kill() reaches every process of this pid namespace but init itself. A fork that races with the
  // signal is found by the next round.
  void end() {
    ran_until_ns_ = clock_ns();
    for (SpawnedProcess& process : processes_) process.end_with_jail(cause_);
    if (raw::call(SYS_kill, -1, 0) == 0) {
      limits_.look_at_processor_time();
      raw::call(SYS_kill, -1, SIGKILL);
      report(wire::message_ending);
    }
    while (reap_one(0)) raw::call(SYS_kill, -1, SIGKILL);
    report(wire::message_ended);
  }

  void report(wire::MessageType type) {
    wire::Message message{};
    message.type = type;
    message.cause = cause_;
    if (cause_ == wire::cause_memory) message.processes = watch_.processes();
    const rusage usage = reaped_usage();
    message.cpu_user_us = microseconds(usage.ru_utime);
    message.cpu_system_us = microseconds(usage.ru_stime);
    // Time of processes that nobody waited for is in no counter any more: see KnownProcesses.
    message.cpu_user_us +=
        beyond(limits_.cpu_ns() / 1000, message.cpu_user_us + message.cpu_system_us);
    // The peak is at least that of the largest process that has been reaped, since a short one may
    // have ended between two looks. It includes mapped files, which no limit covers.
    const std::uint64_t resident = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    message.memory_peak_bytes =
        larger(limits_.memory_peak(), smaller(resident, order_.memory_bytes));
    if (begin_ns_ != 0) {
      message.ran_ns = beyond(ran_until_ns_, begin_ns_);
      message.ended_ns = beyond(clock_ns(), ran_until_ns_);
    }
    send_message(control_, message);
  }

  const wire::PlanHeader& plan_;
  char* base_;
  long* slots_;
  int control_;
  Watch watch_;
  HeldLimits limits_{watch_};
  Standstill standstill_{static_cast<int>(slots_[wire::slot_proc])};
  ProcessLimits process_limits_{static_cast<int>(slots_[wire::slot_proc]), standstill_};
  bool is_paused_ = false;  // all stand still for the owner, or are about to
  std::int32_t pause_serial_ = 0;
  std::uint64_t paused_at_ns_ = 0;
  wire::Order order_{};
  wire::Cause cause_ = wire::cause_none;
  bool owner_gone_ = false;
  bool has_processes_ = false;
  int signals_ = -1;
  ZygoteRequest zygote_;
  SpawnedPlaces processes_;
  Listeners listeners_;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t ran_until_ns_ = 0;
};

}  // namespace

void supervise_living(const wire::PlanHeader& plan, char* base, long* slots) {
  Living(plan, base, slots).run();
}

}  // namespace jail::child
