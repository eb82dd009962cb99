#include "runtime/service/usage_history.h"

#include <gtest/gtest.h>

namespace runtime {
namespace {

using std::chrono::seconds;

SandboxUsage usage_at(int second, std::uint64_t memory, int cpu_seconds) {
  SandboxUsage usage;
  usage.at = UsageHistory::Time(seconds(second));
  usage.memory_bytes = memory;
  usage.cpu = seconds(cpu_seconds);
  return usage;
}

TEST(UsageHistoryTest, ThePeakStaysAndTimeDoesNotGoBack) {
  UsageHistory history;
  history.add(usage_at(1, 100, 5));
  const SandboxUsage later = history.completed(usage_at(2, 50, 3));
  EXPECT_EQ(later.memory_bytes, 50u);
  EXPECT_EQ(later.memory_peak_bytes, 100u);
  EXPECT_EQ(later.cpu, seconds(5));
  SandboxUsage told = usage_at(3, 50, 6);
  told.memory_peak_bytes = 200;
  EXPECT_EQ(history.completed(told).memory_peak_bytes, 200u);
  EXPECT_EQ(history.between(UsageHistory::Time::min(), UsageHistory::Time::max()).size(), 1u);
}

TEST(UsageHistoryTest, KeepsTheLatest) {
  UsageHistory history;
  const int all = static_cast<int>(UsageHistory::max_samples) + 5;
  for (int second = 0; second < all; ++second) history.add(usage_at(second, 1, 1));
  const auto kept = history.between(UsageHistory::Time::min(), UsageHistory::Time::max());
  EXPECT_EQ(kept.size(), UsageHistory::max_samples);
  EXPECT_EQ(kept.front().at, UsageHistory::Time(seconds(5)));
  const auto some =
      history.between(UsageHistory::Time(seconds(10)), UsageHistory::Time(seconds(12)));
  EXPECT_EQ(some.size(), 3u) << "both ends belong to it";
}

}  // namespace
}  // namespace runtime
