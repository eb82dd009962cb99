// What was seen of each process of a jail, from one look to the next, where the kernel forgets it.
//
// The processor time of processes that nobody waited for: a parent that ignores SIGCHLD has the
// kernel reap its children, and what they used is then in no counter. Here it is missed when they
// are gone.
//
// From how many others a process descends: once a parent has ended its children are init's.
//
// Whether any of them has run since: what stood then stands still.
//
// How much of a process's anonymous memory is its own and not shared with whoever forked it: at
// least what it has more than at the look before, and what a look at all of its pages has found.
#pragma once

#include <cstddef>
#include <cstdint>

#include "child/proc_files.h"

namespace jail::child {

class KnownProcesses {
 public:
  // One look: begin(), see() for each living process, end(). Times are the kernel's ticks but for
  // `clock_ns`, which is cpu_ns_of() this process; `reaped` are those of what init has reaped, read
  // after the processes.
  void begin();
  void see(int pid, const ProcessStat& stat, std::uint64_t clock_ns);
  void end(std::uint64_t reaped);

  // Whether no process was new, gone, forgotten for lack of room or had run since the look before.
  bool none_has_moved() const { return !has_moved_; }

  // Whether each of them has exactly the processor time that it had at the last look. Whoever forks
  // has run, so there is nobody else either.
  bool none_has_run() const;

  // In all, of what was ever seen. A process that came and went between two looks is in it only
  // where somebody waited for it, and then not here but with its parent.
  std::uint64_t lost_ticks() const { return lost_; }

  // The longest line of forks that leads to a process that lives: 1 where there is the program
  // alone. Never less, and more for processes whose parents ended before anybody looked.
  std::uint64_t generations() const { return generations_; }

  // `anonymous` is the resident size, in bytes, of a process that see() was called for in this
  // look. At least so much of it is its own; all of it where there is no room to remember it.
  std::uint64_t own_memory(int pid, std::uint64_t anonymous);

  // What the kernel keeps for a process, as it was counted last. A child has what its parent had.
  struct Counts {
    bool is_counted;
    bool was_unreadable;  // at the last count
    bool is_dear;         // counting took so long that its mappings are not counted again
    bool has_sockets;     // at the last count
    bool is_current;      // it has not run since it was counted
    std::uint64_t descriptor_bytes;
    std::uint64_t mappings;
  };
  // Null where the process is not remembered: it is new since the look, or there is no room for it.
  // Valid until the next look.
  Counts* counts_of(int pid);

  bool has_room() const { return count_ < capacity; }

  // A look at its pages has found this share to be its own.
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
    std::uint64_t own;        // of it, at least
    bool is_sized;            // the two are known
    Counts counts;
  };
  // More processes than a jail usually may have; those beyond are not watched in this way.
  static constexpr std::size_t capacity = 256;

  Seen* find(int pid);
  std::uint64_t generation_of_child(int parent);

  Seen seen_[capacity];
  std::size_t count_ = 0;
  bool has_moved_ = true;
  std::uint64_t generations_ = 0;
  std::uint64_t inherited_ = 0;  // what parents got from children since the last look
  std::uint64_t reaped_ = 0;
  std::uint64_t missing_ = 0;  // gone at the last look and with no parent then
  std::uint64_t lost_ = 0;
};

}  // namespace jail::child
