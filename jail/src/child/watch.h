// What the processes of a jail use together, read from a proc mount that only init holds. This is
// the memory and CPU limit where no cgroup can be had.
//
// A guest chooses what a look costs, by the number of its processes, descriptors and mappings and
// by the length of the paths of mapped files. So all work that grows with these has a budget of
// processor time, and what is not read within it counts as the most that it can be.
#pragma once

#include <cstdint>

#include "child/clocks.h"
#include "child/known_processes.h"
#include "child/pid_set.h"
#include "child/socket_memory.h"
#include "child/wire.h"

namespace jail::child {

// Only a walk tells which memory is shared, and with whom: without a walk, the use is between these
// two.
struct WatchedMemory {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t pages = 0;  // memory that the program itself filled, without what the kernel keeps
                            // for it
};

struct WatchedUsage {
  WatchedMemory memory;
  std::uint64_t cpu_ns = 0;  // without the time of processes that init has reaped
  bool is_rough = false;
};

struct ProcessStat;

// The anonymous memory that the processes below one listener (notices.h) share. No other process
// can have it: it is passed on by fork alone.
struct SharedMemory {
  std::uint64_t bytes = 0;    // all that was ever mapped and may still be there
  std::uint64_t largest = 0;  // the largest that was mapped at once
};

inline constexpr std::uint64_t no_memory_limit = ~std::uint64_t{0};

// A look may spend this much processor time on one process, and begins with no other one after it.
// What it does not read about a process counts as the most that it can be. Time that other programs
// take does not shorten it.
inline constexpr std::uint64_t budget_of_a_look_ns = 15 * ns_per_ms;

class Watch {
 public:
  // The descriptors are directories: a proc mount of this pid namespace, and the two tmpfs that the
  // guest can fill; -1 for each of the two that is not a tmpfs.
  // Where the jail `has_own_user` of the host, what the kernel bounds for one user is counted too.
  Watch(int proc, int workspace, int tmp, const wire::PlanHeader& plan)
      : proc_(proc),
        workspace_(workspace),
        tmp_(tmp),
        page_bytes_(plan.page_bytes),
        max_mappings_(plan.max_mappings),
        has_own_user_(plan.uid_map_offset != 0) {}

  // Must be called while all processes are forks of a process outside, which may share all their
  // anonymous memory with it. What they allocate from here on is not shared with it.
  void note_inherited();
  // The same for one fork of a zygote, which has joined the jail.
  void note_inherited_by(int pid);

  // Notes the most descriptors that processes of the jail can have, from the limit of this one.
  void note_open_files(int pid);

  // Excludes a process of init's own from the jail until it is reaped. It must run nothing of a
  // guest, in memory that no guest can write to. Returns false where too many are excluded already.
  bool exclude(int pid);
  void note_reaped(int pid);

  // Notes a child of init's that is a copy of init until its execve, and counts only from then on:
  // before, another process of the jail can stop it for as long as it likes. Returns false where
  // there are too many.
  bool note_starting(int pid);
  void note_started(int pid);
  static constexpr int max_starting = 64;

  // Returns whether the thread's process has so few page tables that changing all of them takes a
  // negligible time.
  bool is_small(int thread) const;

  // Returns whether the thread is one of this process.
  bool is_thread_of(int thread, int pid) const;

  // Counts anonymous memory that processes share. It can outlast every mapping that init can see,
  // and no file tells how much of it there is. So all of it counts from the moment in which it is
  // mapped until it is no longer mapped, which is checked only while the jail has one thread, which
  // waits here. The call comes from `thread`, one of those below `shared`'s listener. Returns false
  // where that is more than `memory_limit` and must not be mapped.
  bool count_shared(SharedMemory& shared, std::uint64_t bytes, int thread,
                    std::uint64_t memory_limit);

  // Must be called when no process is left below the listener.
  void forget_shared(SharedMemory& shared);

  // Measures two bounds. The most: the resident sizes of all processes without files, by the
  // kernel's counters, and what the kernel keeps for them: page tables, mappings, threads,
  // descriptors, sockets, files. The least: the part of it that is surely not counted twice.
  //
  // `reaped_ns` is the time of init's own reaped children. With no_memory_limit, which means that a
  // cgroup holds the limit, the memory is approximate.
  WatchedUsage measure(std::uint64_t memory_limit, std::uint64_t reaped_ns);

  // The same at a lower cost, with the least alone: the current memory of files and sockets, and
  // the rest of the kernel's memory as of the last measure(). Waits for no process. Where the last
  // measure() took no count, the kernel keeps less than this says, and `is_rough` is set.
  WatchedUsage glance(std::uint64_t memory_limit, std::uint64_t reaped_ns);

  // Returns whether the findings of the last measure() still hold: no process has run since, nor
  // while it was made, and the owner has written no file. Messages of a peer are not seen.
  bool is_still() const;
  bool has_sockets() const { return sockets_now_ > 0; }
  // The number as of the last measure().
  std::uint64_t threads() const { return threads_; }
  // The number as of the last look at memory.
  std::uint32_t processes() const { return processes_; }

  // Returns only the processor time.
  std::uint64_t processor_time(std::uint64_t reaped_ns);
  // The same of the living processes alone, without their children, by their clocks: exact, where
  // the other is in the kernel's ticks.
  std::uint64_t clock_time() const;

  // Adds up proportional shares, in bytes, and the other findings of the last measure(). The kernel
  // looks at every page for it: at a gigabyte that takes tens of milliseconds. Processes that it
  // does not reach within its budget are the first ones of the next walk, and count until then with
  // what is known to be their own. A fork between two reads shows the same pages twice.
  std::uint64_t walk(std::uint64_t memory_limit);

 private:
  struct Process;
  struct Scan;
  struct Statuses;
  struct Kept;
  template <class Visit>
  void each_process(Visit visit) const;
  void find_memory(Process& process, ProcessStat& stat) const;
  Scan scan(std::uint64_t reaped_ns);
  bool is_excluded(int pid) const;
  bool is_joining(const Process& process) const;
  KnownProcesses::Origin origin_of(const Process& process, const ProcessStat& stat);
  Statuses read_statuses();
  using Counted = KnownProcesses::Counted;
  bool is_patient_with(const Process& process, KnownProcesses::Counts& counts) const;
  void count_descriptors_of(const Process& process, const ProcessStat& stat,
                            std::uint64_t memory_limit, KnownProcesses::Counts& counts);
  void count_mappings_of(const Process& process, const ProcessStat& stat,
                         std::uint64_t memory_limit, KnownProcesses::Counts& counts);
  void count_from(int first, int last, std::uint64_t memory_limit, Counted what, std::uint64_t room,
                  const Budget& budget);
  bool count_descriptors(const Process& process, std::uint64_t places, bool reads_watches,
                         KnownProcesses::Counts& counts) const;
  std::uint64_t kept_for_own_user(const Kept& counted);
  bool count_mappings(const Process& process, std::uint64_t& out) const;
  Kept counted(std::uint64_t memory_limit, Counted what, std::uint64_t room);
  std::uint64_t mappings_bound(const ProcessStat& stat) const;
  std::uint64_t bytes_of_places(std::uint64_t places) const;
  std::uint64_t bytes_of_a_proc_file() const;
  std::uint64_t bytes_of_a_file() const;
  std::uint64_t max_watches() const;
  bool is_dear(int pid);
  bool is_large(const ProcessStat& stat, std::uint64_t memory_limit) const;
  struct Files;
  Files count_files() const;
  void look_at_files();
  std::uint64_t least(const Statuses& all) const;
  void walk_from(int first, int last, std::uint64_t memory_limit, const Budget& budget,
                 std::uint64_t& all);
  bool is_only_thread(int thread) const;
  void forget_shared_that_is_gone(SharedMemory& shared, int thread_that_asks);
  void shrink_shared(SharedMemory& shared, std::uint64_t left);

  int proc_;
  int workspace_;
  int tmp_;
  std::uint64_t page_bytes_;
  std::uint64_t max_mappings_;
  bool has_own_user_;
  std::uint64_t inherited_ = 0;
  std::uint64_t shared_ = 0;        // the sum of all SharedMemory
  std::uint64_t files_ = 0;         // as the last look found them, as are the next two
  std::uint64_t inodes_ = 0;        // of both tmpfs
  std::uint64_t sockets_now_ = 0;   // what is kept for sockets
  std::uint64_t kernel_ = 0;        // other memory of the kernel, by the last measure()
  bool kernel_is_counted_ = false;  // false: it is only the most that it can be
  bool is_still_ = false;           // no process had moved when measure() began
  std::uint64_t threads_ = 0;
  std::uint32_t processes_ = 0;
  static constexpr int max_excluded = 8;
  PidSet<max_excluded> excluded_;
  PidSet<max_starting> starting_;
  // Processes that init had executed, and forks of a zygote that have joined, until they are
  // reaped.
  PidSet<max_starting> executed_;
  PidSet<max_starting> joined_;
  std::uint64_t hidden_since_ns_ = 0;  // more descriptors are in flight than were found; 0: no
  int counted_until_ = 0;              // the last process that a count has reached
  int walked_until_ = 0;               // the last process that a walk has reached
  std::uint64_t max_places_ = 64;      // for descriptors, in one process
  SocketMemory sockets_;
  KnownProcesses known_;
};

}  // namespace jail::child
