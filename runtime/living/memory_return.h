// Gives the memory of a paused sandbox back to the host.
#pragma once

#include <cstdint>
#include <functional>

#include "jail/result.h"
#include "runtime/living/sandbox_usage.h"

namespace runtime {

// All in bytes.
struct MemoryReturn {
  std::uint64_t before = 0;   // in memory before, by the count of its cgroup
  std::uint64_t after = 0;    // the same afterwards
  std::uint64_t swapped = 0;  // in swap afterwards, in part or as a whole
};

// Has the kernel write the memory of a sandbox's cgroup to swap, where there is swap, and drop what
// it can read from files again, as long as `goes_on()`, which is asked every few MiB, and while a
// quarter of the host's swap is free. Afterwards up to the cgroup's memory limit may be in swap; a
// running cgroup gets no more swap. Waits for the disk. May be called from any thread, one at a
// time for each sandbox. Errors: closed (the sandbox has ended), unsupported (it has no cgroup, or
// the kernel is older than Linux 5.19), kernel.
jail::Result<MemoryReturn> give_back_memory(const UsageTarget& target,
                                            const std::function<bool()>& goes_on);

}  // namespace runtime
