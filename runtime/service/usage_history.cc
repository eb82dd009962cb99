#include "runtime/service/usage_history.h"

#include <algorithm>

namespace runtime {

SandboxUsage UsageHistory::completed(SandboxUsage usage) {
  const std::lock_guard lock(mutex_);
  return completed_locked(usage);
}

SandboxUsage UsageHistory::completed_locked(SandboxUsage usage) {
  peak_bytes_ = std::max({peak_bytes_, usage.memory_bytes, usage.memory_peak_bytes});
  cpu_ = std::max(cpu_, usage.cpu);
  usage.memory_peak_bytes = peak_bytes_;
  usage.cpu = cpu_;
  return usage;
}

void UsageHistory::add(SandboxUsage usage) {
  const std::lock_guard lock(mutex_);
  samples_.push_back(completed_locked(usage));
  if (samples_.size() > max_samples) samples_.pop_front();
}

std::vector<SandboxUsage> UsageHistory::between(Time from, Time to) const {
  const std::lock_guard lock(mutex_);
  std::vector<SandboxUsage> found;
  for (const SandboxUsage& sample : samples_) {
    if (sample.at >= from && sample.at <= to) found.push_back(sample);
  }
  return found;
}

}  // namespace runtime
