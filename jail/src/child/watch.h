// What the processes of a jail use together, read from a proc mount that only init holds. This is
// the memory and CPU limit where no cgroup can be had.
#pragma once

#include <cstdint>

namespace jail::child {

// What is shared, and with whom, only a walk tells: without one, the use is between these two.
struct WatchedMemory {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

struct WatchedUsage {
  WatchedMemory memory;
  std::uint64_t cpu_ns = 0;  // of living processes and of children that they have waited for
};

struct SizeFile;

class Watch {
 public:
  // Directories: a proc mount of this pid namespace, and the two tmpfs that the guest can fill.
  Watch(int proc, int workspace, int tmp, std::uint64_t page_bytes)
      : proc_(proc), workspace_(workspace), tmp_(tmp), page_bytes_(page_bytes) {}

  // What is there at this moment are forks of a process outside, which may share all their
  // anonymous memory with it; what they get from here on they cannot.
  void note_inherited();

  // Whether the thread is one of this process.
  bool is_thread_of(int thread, int pid) const;

  // Whether the process is the jail's only one beside init, has one thread, and has never waited
  // for a child: then the most memory that it ever had, in bytes. False too where that cannot be
  // read.
  bool is_alone(int pid, std::uint64_t& memory_peak) const;

  // Resident sizes added up; they count mapped files, and shared pages once for each process. Where
  // that passes `memory_limit`, sizes without files from the kernel's counters: of all together as
  // the most, the tmpfs and the anonymous memory of the largest alone, without what it may have
  // inherited, as the least.
  WatchedUsage measure(std::uint64_t memory_limit) const;

  // Proportional shares added up, in bytes. The kernel looks at every page for it: at a gigabyte
  // that takes tens of milliseconds, in which a program fills a hundred megabytes more. A fork
  // between two reads shows the same pages twice.
  std::uint64_t walk() const;

 private:
  template <class Visit>
  void each_process(Visit visit) const;
  std::uint64_t tmpfs_bytes() const;
  WatchedMemory memory_without_files(const SizeFile& file, std::uint64_t tmpfs) const;

  int proc_;
  int workspace_;
  int tmp_;
  std::uint64_t page_bytes_;
  std::uint64_t inherited_ = 0;
};

}  // namespace jail::child
