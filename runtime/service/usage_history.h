// What a sandbox has used, a sample at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "runtime/living/sandbox_usage.h"

namespace runtime {

// Thread-safe.
class UsageHistory {
 public:
  using Time = std::chrono::system_clock::time_point;

  // One sample in so much time, of the last hour that it ran.
  static constexpr std::chrono::seconds interval{10};
  static constexpr std::size_t max_samples = 360;

  // The same with what earlier looks know: the highest memory that was seen, where the kernel does
  // not say, and no less processor time than before, where processes took theirs along.
  SandboxUsage completed(SandboxUsage usage);
  // The same, and keeps it.
  void add(SandboxUsage usage);
  // Samples from `from` to `to`, both included, the oldest first.
  std::vector<SandboxUsage> between(Time from, Time to) const;

 private:
  SandboxUsage completed_locked(SandboxUsage usage);

  mutable std::mutex mutex_;
  std::uint64_t peak_bytes_ = 0;
  std::chrono::microseconds cpu_{0};
  std::deque<SandboxUsage> samples_;
};

}  // namespace runtime
