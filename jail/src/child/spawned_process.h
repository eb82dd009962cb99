// One process that the owner of a living jail has spawned, and what init knows of it.
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
  // What is made for a process before there is one.
  struct Given {
    int control;
    int start_report;
    int terminal;  // the owner's side of it, or -1
    Listener* listener;
  };

  // True if the place can be used again: the process is reaped, and its owner listens no more.
  bool is_free() const;

  // Takes over what is `given`; the listener until the process has come to its program or has
  // ended. The clock of its deadline starts at `now`. Of the order count the two limits; without
  // one on processor time it has none of its own.
  void begin(int pid, const Given& given, const wire::Order& order, std::uint64_t now);

  // What a zygote needs to fork one: its Invocation and its streams.
  struct ToFork {
    int invocation;
    int streams[3];
  };
  // The same of one that a zygote is to fork, which is yet to be asked. There is no start_report.
  void begin_fork(const Given& given, const ToFork& needs, const wire::Order& order,
                  std::uint64_t now);
  bool is_to_be_asked_for() const { return needs_.invocation >= 0; }
  std::uint64_t begin_ns() const { return begin_ns_; }
  // Its number comes on start_report() then. Where the zygote cannot be asked its owner hears so.
  void ask(const ZygoteRequest& zygote);

  bool is(int pid) const { return pid_ != 0 && pid_ == pid; }
  int pid() const { return pid_; }  // 0 once init has reaped it
  // To poll; -1 where there is nothing to wait for.
  int control() const { return control_; }
  // Orders to one that joins wait until there is somebody to signal, and those behind one that is
  // held wait for that.
  short control_events() const { return is_joining() || has_held_order_ ? 0 : POLLIN; }
  int start_report() const { return is_told_ ? start_report_ : -1; }

  // When expire() has something to do.
  std::uint64_t next_deadline_ns() const;
  // Kills it where its deadline has passed, where it has used its processor time, or where it has
  // not come to its execve in time; ends what is joining, of which there is nobody to kill. Tells
  // the owner that it exists where that could not be done at once.
  void expire(std::uint64_t now);

  // What came on start_report(), for the last time when the process has ended. True: its program
  // has begun, `now`. `proc` is init's own proc mount: the process has not been reaped yet.
  bool read_start_report(int proc, std::uint64_t now);

  // Ends a process that was to be forked and has no number yet, and tells its owner why.
  bool is_joining() const { return pid_ == 0 && (start_report_ >= 0 || is_to_be_asked_for()); }
  // What came on start_report() of it. True: it waits, under the number pid() from now on, for
  // release().
  bool read_guest_report();
  // Lets the program run, under the limits of its order. False: it could not, and is killed.
  bool release(std::uint64_t now);

  // What poll() has found at control(): a signal to pass on, or the owner's end, which kills it.
  // `is_paused`: a signal is held until go_on(), unless it kills. True: it is killed.
  bool read_order(bool is_paused);

  // After a pause of its jail: its clocks go on where they stood, and what was held reaches it.
  void go_on(std::uint64_t paused_ns);

  // With the jail: whatever ends it now ends it for this reason.
  void end_with_jail(wire::Cause cause);

  // Init has reaped it, after a last read_start_report().
  void note_end(const siginfo_t& ended, const rusage& usage, std::uint64_t now);

 private:
  void kill() const;
  void pass_on(const wire::ProcessOrder& order) const;
  void send(const wire::Message& message) const;
  void tell_spawned(std::uint64_t now);
  void tell_running(std::uint64_t now);
  void take_over(const Given& given, const wire::Order& order, std::uint64_t now);
  void fail_to_join(std::int32_t index, std::int32_t error);
  void let_go_of_owner();
  void let_go_of_needs();
  void end_start();

  int pid_ = 0;
  int control_ = -1;
  int start_report_ = -1;
  int terminal_ = -1;  // until the owner has it
  wire::ProcessOrder held_order_{};
  bool has_held_order_ = false;
  ToFork needs_{-1, {-1, -1, -1}};
  bool is_told_ = false;
  std::uint64_t next_try_ns_ = 0;  // where the owner is not told
  Listener* listener_ = nullptr;   // as long as there is or will be a start_report_
  wire::Cause cause_ = wire::cause_none;
  std::uint64_t begin_ns_ = 0;
  std::uint64_t wall_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;  // 0: no limit of its own
  std::uint64_t data_limit_ = 0;
  std::uint64_t cpu_limit_s_ = 0;
  std::uint64_t next_cpu_look_ns_ = 0;
  std::uint64_t exec_ns_ = 0;
};

}  // namespace jail::child
