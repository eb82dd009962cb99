// The current usage of a sandbox, as the kernel counts it: by its cgroup, or else by its processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "jail/fd.h"
#include "jail/result.h"

namespace runtime {

struct SandboxUsage {
  enum class Source : std::uint8_t { cgroup, processes };

  std::chrono::system_clock::time_point at{};
  Source source = Source::processes;
  // Where it is counted by processes: the resident memory of each that is not a file's, so pages
  // that several share count for each of them, and the content of its files.
  std::uint64_t memory_bytes = 0;
  // What of it the kernel takes back by itself before it refuses any: caches of files.
  std::uint64_t reclaimable_bytes = 0;
  // 0: the kernel does not report it.
  std::uint64_t memory_peak_bytes = 0;
  // Where it is counted by processes: without the time of children that nobody waited for.
  std::chrono::microseconds cpu{0};
  std::uint32_t tasks = 0;  // processes and threads, including the sandbox's own one
  // False: some processes were not looked at since there are too many, or the host does not show
  // them.
  bool is_complete = true;

  struct Disk {
    std::uint64_t used_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t files = 0;  // files, directories and links
    std::uint64_t max_files = 0;
  };
  Disk workspace{};
  Disk tmp{};
};

// The sandbox whose usage is read.
struct UsageTarget {
  jail::Fd init;  // a pidfd of the first process of the jail
  jail::Fd workspace;
  jail::Fd tmp;
  SandboxUsage::Source source = SandboxUsage::Source::processes;
  // Where /workspace is on the host's disk, what it takes there, which is no memory.
  std::optional<SandboxUsage::Disk> on_disk = std::nullopt;
};

// Returns the one of the two disks that has less room left, in bytes or in files; all 0 where
// neither can be read.
SandboxUsage::Disk fuller_disk(const UsageTarget& target);

// Waits for nobody, and looks at a bounded number of processes, which takes some milliseconds.
// Errors: closed (the sandbox has ended); kernel.
jail::Result<SandboxUsage> usage_of(const UsageTarget& target);

}  // namespace runtime
