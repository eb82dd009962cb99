// Remembers, from one look to the next, what the kernel forgets about each process of a jail.
//
// The processor time of processes that nobody waited for: the kernel reaps the children of a parent
// that ignores SIGCHLD, and no counter has their time afterwards. It is counted here as lost when
// they are gone.
//
// The number of processes that a process descends from: once a parent has ended, its children are
// init's.
//
// Whether any of them has run since: if none has, their figures still hold.
//
// How much of a process's anonymous memory is its own and not shared with its parent: at least the
// growth since the look before, and what a look at all of its pages has found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "child/proc_files.h"

namespace jail::child {

class KnownProcesses {
 public:
  // How a process came into the jail. Its memory is new where init had it executed, and that of a
  // fork of a fork of a zygote where it comes from there.
  enum class Origin : std::uint8_t { of_a_guest, executed, of_a_zygote };

  // One look: begin(), see() for each living process, end(). Times are in the kernel's ticks,
  // except `clock_ns`, which is cpu_ns_of() this process. `reaped` are the ticks of the processes
  // that init has reaped, read after the living processes.
  void begin();
  void see(int pid, const ProcessStat& stat, std::uint64_t clock_ns,
           Origin origin = Origin::of_a_guest);
  void end(std::uint64_t reaped);

  // Returns whether, since the look before, no process was new, gone, forgotten for lack of room or
  // had run.
  bool none_has_moved() const { return !has_moved_; }

  // Returns whether each of them has exactly the processor time that it had at the last look. A
  // process that forks has run, so there are no new ones either.
  bool none_has_run() const;

  // The lost time in all. The time of a process that came and went between two looks is missing
  // here; where somebody waited for it, it is counted with its parent.
  std::uint64_t lost_ticks() const { return lost_; }

  // Returns whether the process was there at the last look.
  bool knows(int pid) { return find(pid) != nullptr; }

  // The longest chain of forks that leads to a living process: 1 where there is the program alone.
  // It is never too small, and too large for processes whose parents ended before anybody looked.
  std::uint64_t generations() const { return generations_; }

  // The part of a process's memory that is surely its own. `anonymous` is its resident size in
  // bytes; see() must have been called for it in this look. Returns all of it where there is no
  // room to remember the process.
  std::uint64_t own_memory(int pid, std::uint64_t anonymous);

  enum class Counted : std::uint8_t { descriptors, mappings };

  // What the kernel keeps for a process, as of the last count. A child starts with its parent's
  // counts.
  struct Counts {
    bool has(Counted what) const { return has_mappings || what == Counted::descriptors; }

    bool is_counted;
    bool has_mappings;                  // the last count was one of mappings too
    std::uint64_t unreadable_since_ns;  // by the clock; 0: it was read at the last count
    bool is_dear;      // counting took so long that its mappings are not counted again
    bool has_sockets;  // at the last count
    bool is_current;   // it has not run since it was counted
    std::uint64_t descriptor_bytes;
    std::uint64_t in_flight;  // descriptors queued in its sockets
    std::uint64_t pipe_ends;
    std::uint64_t mappings;
  };
  // Returns null where the process is not remembered: it is new since the look, or there is no room
  // for it. Valid until the next look.
  Counts* counts_of(int pid);

  bool has_room() const { return count_ < capacity; }

  // Notes that a look at its pages has found this much to be its own.
  void note_own_memory(int pid, std::uint64_t own);

 private:
  struct Seen {
    int pid;
    bool is_there;
    std::uint64_t clock_ns;
    std::uint64_t own_ticks;
    std::uint64_t children_ticks;
    std::uint64_t generation;
    std::uint64_t anonymous;  // at the last look
    std::uint64_t own;        // of `anonymous`, at least
    bool is_sized;            // `anonymous` and `own` are known
    Counts counts;
  };
  // More processes than a jail usually may have; further ones are not watched in this way.
  static constexpr std::size_t capacity = 256;

  Seen* find(int pid);
  std::uint64_t generation_of(Origin origin, int parent);

  Seen seen_[capacity];
  std::size_t count_ = 0;
  bool has_moved_ = true;
  std::uint64_t generations_ = 0;
  std::uint64_t inherited_ = 0;  // ticks that parents got from children since the last look
  std::uint64_t reaped_ = 0;
  std::uint64_t missing_ = 0;  // ticks of processes that were gone at the last look and had no
                               // parent then
  std::uint64_t lost_ = 0;
};

}  // namespace jail::child
