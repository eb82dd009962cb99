// Memory of a sandbox that stands still goes back to the host.
#pragma once

#include <cstdint>
#include <functional>

#include "jail/result.h"
#include "runtime/living/sandbox_usage.h"

namespace runtime {

// In bytes.
struct MemoryReturn {
  std::uint64_t before = 0;   // in memory, as the kernel counts its cgroup
  std::uint64_t after = 0;    // the same when it was done
  std::uint64_t swapped = 0;  // in swap then
};

// Has the kernel write the memory of a sandbox's cgroup to swap, where there is swap, and drop what
// it can read from files again, for as long as `goes_on()`, which is asked every few MiB, and while
// a quarter of the host's swap is free. As much as the cgroup's memory limit may be in swap then; a
// cgroup that runs gets no more of it. Waits for the disk. From any thread; one at a time for each
// sandbox.
// Errors: closed (the sandbox has ended), unsupported (it has no cgroup, or the kernel is older
// than Linux 5.19), kernel.
jail::Result<MemoryReturn> give_back_memory(const UsageTarget& target,
                                            const std::function<bool()>& goes_on);

}  // namespace runtime
