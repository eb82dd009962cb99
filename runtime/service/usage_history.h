// The usage of a sandbox over time, in samples.
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

  // The time between samples, which are kept for the last hour of running time.
  static constexpr std::chrono::seconds interval{10};
  static constexpr std::size_t max_samples = 360;

  // The usage, completed by earlier samples: the highest memory that was seen, where the kernel
  // does not tell it, and at least the processor time that was seen before, where processes that
  // have ended took theirs along.
  SandboxUsage completed(SandboxUsage usage);
  // The same; also stores it as a sample.
  void add(SandboxUsage usage);
  // The samples from `from` to `to`, inclusive, the oldest first.
  std::vector<SandboxUsage> between(Time from, Time to) const;

 private:
  SandboxUsage completed_locked(SandboxUsage usage);

  mutable std::mutex mutex_;
  std::uint64_t peak_bytes_ = 0;
  std::chrono::microseconds cpu_{0};
  std::deque<SandboxUsage> samples_;
};

}  // namespace runtime
