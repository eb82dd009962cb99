// Makes every process of a living jail stand still, and sees to it that each of them stays so.
//
// It is done by SIGSTOP in every jail. A cgroup's freezer would stop init too, which shares the
// cgroup with the guest and must go on: it listens to its owner, reaps, and keeps the others still.
//
// SIGSTOP alone is no fence. A process that is inside kill(2) when everybody is stopped may
// continue others a moment later, so init goes on until two looks find the same: no thread that
// could run, and no processor time that was used in between. Then only the kernel can still wake a
// process: it continues a process group that loses its parent, and sends whatever signal a timer
// was made with. A process that runs again is stopped again, and killed where that happens often.
#pragma once

#include <cstdint>

#include "child/clocks.h"

namespace jail::child {

struct ProcessStat;

class Standstill {
 public:
  // `proc` is init's own proc mount, a descriptor that the caller keeps. An init may have only one
  // Standstill, since what that remembers about processes is in static storage.
  explicit Standstill(int proc) : proc_(proc) {}

  enum class State : std::uint8_t {
    off,       // all run freely
    stopping,  // some may still run
    still,
  };
  State state() const { return state_; }
  bool is_on() const { return state_ != State::off; }

  // Begins to stop all processes. Parents come first, and are waited for: a shell that sees its job
  // stopped takes the terminal back from it. look() gives up after `longest_ns`.
  void begin(std::uint64_t now, std::uint64_t longest_ns = 2'000 * ns_per_ms);

  // The time at which look() is to be called.
  std::uint64_t next_look_ns() const { return next_look_ns_; }
  // Makes the next look come at once, since something has happened.
  void look_soon() { next_look_ns_ = 0; }

  // Looks at all processes, and stops those that run. Returns false where they have resisted for
  // too long; all of them then go on.
  bool look(std::uint64_t now);

  // Must be called when the owner kills a process, after which the kernel may continue others.
  void excuse() { ++strikes_left_; }

  // Continues all processes, children first, except those that a guest itself had stopped. Where a
  // process may be about to fork a child that is born stopped, these run for a moment too.
  void end();

 private:
  struct Scan {
    std::uint64_t count = 0;  // of processes
    std::uint64_t cpu_ns = 0;
    bool is_still = true;
    bool has_new = false;  // processes that were not there before
  };

  void note_stopped_ones() const;
  void stop_in_order(std::uint64_t now) const;
  void stop_all() const;
  void stop_in_a_burst() const;
  void continue_all() const;
  // Returns false where the process is gone, too.
  template <class Wanted>
  bool any_thread(const char* name, const ProcessStat& stat, Wanted is_wanted) const;
  bool may_run(const char* name, const ProcessStat& stat) const;
  bool has_stopped(const char* name) const;  // or is gone
  template <class OnOffender>
  Scan scan(OnOffender on_offender) const;

  int proc_;
  State state_ = State::off;
  std::uint64_t give_up_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t pause_ns_ = 0;  // between two looks, once all stand still
  Scan last_;
  int strikes_left_ = 0;
  int attempts_ = 0;  // to stop all
};

}  // namespace jail::child
