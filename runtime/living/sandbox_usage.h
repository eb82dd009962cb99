// What a sandbox uses now, as the kernel counts it: by its cgroup, or else by its processes.
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
  // By processes: what is resident of each and no file's, so pages that several share count for
  // each, and what is in its files.
  std::uint64_t memory_bytes = 0;
  // 0: the kernel does not say.
  std::uint64_t memory_peak_bytes = 0;
  // By processes: without that of children that nobody waited for.
  std::chrono::microseconds cpu{0};
  std::uint32_t tasks = 0;  // processes and threads, with the one that is the sandbox's own
  // False: there were so many processes that some were not looked at, or the host does not show
  // them.
  bool is_complete = true;

  struct Disk {
    std::uint64_t used_bytes = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t files = 0;  // and directories and links
    std::uint64_t max_files = 0;
  };
  Disk workspace{};
  Disk tmp{};
};

// Where to look.
struct UsageTarget {
  jail::Fd init;  // a pidfd of the first process of the jail
  jail::Fd workspace;
  jail::Fd tmp;
  SandboxUsage::Source source = SandboxUsage::Source::processes;
};

// The one of the two disks that has less room left, in bytes or in files. Zeros: neither is shown.
SandboxUsage::Disk fuller_disk(const UsageTarget& target);

// Looks without waiting for anybody, at so many processes that it takes some milliseconds. Errors:
// closed (the sandbox has ended); kernel.
jail::Result<SandboxUsage> usage_of(const UsageTarget& target);

}  // namespace runtime
