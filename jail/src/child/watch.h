// What the processes of a jail use together, read from a proc mount that only init holds. This is
// the memory and CPU limit where no cgroup can be had.
#pragma once

#include <cstdint>

#include "child/known_processes.h"
#include "child/socket_memory.h"

namespace jail::child {

// What is shared, and with whom, only a walk tells: without one, the use is between these two.
struct WatchedMemory {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t pages = 0;  // what the program itself filled, without what the kernel keeps for it
};

struct WatchedUsage {
  WatchedMemory memory;
  std::uint64_t cpu_ns = 0;  // without what init has reaped
};

struct ProcessStat;
struct SizeFile;

inline constexpr std::uint64_t no_memory_limit = ~std::uint64_t{0};

class Watch {
 public:
  // Directories: a proc mount of this pid namespace, and the two tmpfs that the guest can fill.
  Watch(int proc, int workspace, int tmp, std::uint64_t page_bytes)
      : proc_(proc), workspace_(workspace), tmp_(tmp), page_bytes_(page_bytes) {}

  // What is there at this moment are forks of a process outside, which may share all their
  // anonymous memory with it; what they get from here on they cannot.
  void note_inherited();

  // The most descriptors that processes of the jail can have, from the limit of this one.
  void note_open_files(int pid);

  // Whether the thread is one of this process.
  bool is_thread_of(int thread, int pid) const;

  // Whether the process is the jail's only one beside init, has one thread, and has never waited
  // for a child: then the most memory that it ever had, in bytes. False too where that cannot be
  // read.
  bool is_alone(int pid, std::uint64_t& memory_peak) const;

  // Anonymous memory that processes share stays when nobody has it in sight any more, and no file
  // tells how much of it there is. So all of it counts from the moment that it is mapped, until it
  // is mapped no more; whether that is so is looked at only while the jail has one thread, which
  // waits here. `thread` asks; false: that is more than `memory_limit`, and it must not be
  // mapped.
  bool count_shared(std::uint64_t bytes, int thread, std::uint64_t memory_limit);

  // Resident sizes added up, and the most that the kernel can keep for these processes: page
  // tables, mappings, threads, descriptors, sockets. Where that passes `memory_limit`, sizes
  // without files from the kernel's counters: of all together as the most, the tmpfs and the
  // anonymous memory of the largest alone, without what it may have inherited, as the least.
  //
  // `reaped_ns` is what init's own reaped children used. With no_memory_limit, which is where a
  // cgroup holds it, memory is told roughly.
  WatchedUsage measure(std::uint64_t memory_limit, std::uint64_t reaped_ns);

  // Only the processor time of measure(), at a cost that a guest's memory has no part in.
  std::uint64_t processor_time(std::uint64_t reaped_ns);

  // Proportional shares added up, in bytes, and what the last measure() found beside them. The
  // kernel looks at every page for it: at a gigabyte that takes tens of milliseconds, in which a
  // program fills a hundred megabytes more. A fork between two reads shows the same pages twice.
  std::uint64_t walk() const;

 private:
  struct Process;
  struct Scan;
  template <class Visit>
  void each_process(Visit visit) const;
  void find_memory(Process& process, ProcessStat& stat) const;
  Scan scan(std::uint64_t reaped_ns);
  std::uint64_t bytes_in_status() const;
  std::uint64_t tmpfs_bytes() const;
  std::uint64_t count_mappings(std::uint64_t most) const;
  bool is_only_thread(int thread) const;
  void forget_shared_that_is_gone(int thread_that_asks);
  WatchedMemory without_files(const SizeFile& file) const;

  int proc_;
  int workspace_;
  int tmp_;
  std::uint64_t page_bytes_;
  std::uint64_t inherited_ = 0;
  std::uint64_t largest_shared_ = 0;  // that was mapped at once
  std::uint64_t shared_ = 0;          // anonymous, all that was ever mapped and may be there still
  std::uint64_t files_ = 0;           // as the last measure() found them, and the same of these:
  std::uint64_t kernel_ = 0;          // what the kernel keeps
  std::uint64_t most_places_ = 64;    // for descriptors, in one process
  SocketMemory sockets_;
  KnownProcesses known_;
};

}  // namespace jail::child
