// One process that the owner of a living jail has spawned, and init's knowledge of it.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

#include "child/listeners.h"
#include "child/wire.h"
#include "child/zygote_request.h"

namespace jail::child {

class SpawnedProcess {
 public:
  // What is made for a process before it exists.
  struct Given {
    int control;
    int start_report;
    int terminal;  // the owner's side of the terminal, or -1
    Listener* listener;
  };

  // Returns true if the place can be used again: the process is reaped, and its owner no longer
  // listens.
  bool is_free() const;

  // Takes over what is `given`; it holds the listener until the process has come to its program or
  // has ended. The clock of its deadline starts at `now`. Only the limits of the order are read;
  // without one on processor time the process has none of its own.
  void begin(int pid, const Given& given, const wire::Order& order, std::uint64_t now);

  // What a zygote needs to fork a process: its Invocation and its streams.
  struct ToFork {
    int invocation;
    int streams[3];
  };
  // The same for a process that a zygote is yet to be asked to fork. It has no start_report.
  void begin_fork(const Given& given, const ToFork& needs, const wire::Order& order,
                  std::uint64_t now);
  bool is_to_be_asked_for() const { return needs_.invocation >= 0; }
  std::uint64_t begin_ns() const { return begin_ns_; }
  // Asks the zygote to fork it; the process's number then comes on start_report(). Where the zygote
  // cannot be asked, the owner is told.
  void ask(const ZygoteRequest& zygote);

  bool is(int pid) const { return pid_ != 0 && pid_ == pid; }
  int pid() const { return pid_; }  // 0 once init has reaped it
  // The descriptor to poll; -1 where there is nothing to wait for.
  int control() const { return control_; }
  // Orders to a process that joins wait until there is a process to signal, and orders behind one
  // that is held wait for that one.
  short control_events() const { return is_joining() || has_held_order_ ? 0 : POLLIN; }
  int start_report() const { return is_told_ ? start_report_ : -1; }
  // Whether it has a number and runs no program yet.
  bool is_starting() const { return pid_ != 0 && start_report_ >= 0; }

  // The time at which expire() has something to do.
  std::uint64_t next_deadline_ns() const;
  // Kills the process where its deadline has passed, where it has used up its processor time, or
  // where it has not come to its execve in time. Ends one that is still joining and cannot be
  // killed. Tells the owner that the process exists where that could not be done at once.
  void expire(std::uint64_t now);

  // Reads what came on start_report(); the last call is made when the process has ended. Returns
  // true: its program has begun, `now`. `proc` is init's own proc mount: the process must not be
  // reaped yet.
  bool read_start_report(int proc, std::uint64_t now);

  // A joining process is one that is to be forked and has no number yet.
  bool is_joining() const { return pid_ == 0 && (start_report_ >= 0 || is_to_be_asked_for()); }
  // Reads what came on start_report() of a fork. Returns true: it waits for release(), under the
  // number pid() from now on.
  bool read_guest_report();
  // Lets the program run, under the limits of its order and those that the jail's plan sets for
  // what is executed. Returns false where that failed; the process is then killed.
  bool release(std::uint64_t now, const wire::PlanHeader& plan, const char* base);

  // Reads what poll() has found at control(): a signal to pass on, or the owner's end, which kills
  // the process. Where `is_paused`, a signal is held until go_on() unless it kills. Returns true:
  // the process is killed.
  bool read_order(bool is_paused);

  // Must be called after a pause of its jail: its clocks go on where they stood, and held orders
  // reach it.
  void go_on(std::uint64_t paused_ns);

  // Called when the jail ends: the process's end is reported with this cause.
  void end_with_jail(wire::Cause cause);

  // Must be called when init has reaped it, after a last read_start_report().
  void note_end(const siginfo_t& ended, const rusage& usage, std::uint64_t now);

 private:
  // A limit of the order.
  struct Limit {
    long resource;
    std::uint64_t most;
  };

  void kill() const;
  long set_limits(const wire::PlanHeader& plan, const char* base) const;
  void pass_on(const wire::ProcessOrder& order) const;
  void send(const wire::Message& message) const;
  void tell_spawned(std::uint64_t now);
  void tell_running(std::uint64_t now);
  void take_over(const Given& given, const wire::Order& order, std::uint64_t now);
  void fail_to_start(std::int32_t index, std::int32_t error);
  void let_go_of_owner();
  void let_go_of_needs();
  void end_start();

  int pid_ = 0;
  int control_ = -1;
  int start_report_ = -1;
  int terminal_ = -1;  // held until the owner has it
  wire::ProcessOrder held_order_{};
  bool has_held_order_ = false;
  ToFork needs_{-1, {-1, -1, -1}};
  bool is_told_ = false;
  std::uint64_t next_try_ns_ = 0;  // where the owner could not be told yet
  Listener* listener_ = nullptr;   // held as long as there is or will be a start_report_
  wire::Cause cause_ = wire::cause_none;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t wall_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;  // 0: no limit of its own
  Limit limits_[4] = {};
  std::uint64_t next_cpu_look_ns_ = 0;
  std::uint64_t exec_ns_ = 0;
};

}  // namespace jail::child
