#include "server/api/rate_limit.h"

#include <algorithm>

namespace server {

using std::chrono::nanoseconds;

RateLimit::RateLimit(RequestRate rate, std::size_t callers)
    : interval_(rate.interval.count()), capacity_(interval_ * rate.burst), full_at_(callers) {}

nanoseconds RateLimit::take(std::size_t caller, Clock::time_point now) {
  const std::int64_t time = nanoseconds(now.time_since_epoch()).count();
  std::atomic<std::int64_t>& full_at = full_at_[caller];
  std::int64_t before = full_at.load(std::memory_order_relaxed);
  for (;;) {
    const std::int64_t after = std::max(before, time) + interval_;
    const std::int64_t missing = after - time - capacity_;
    if (missing > 0) return nanoseconds(missing);
    if (full_at.compare_exchange_weak(before, after, std::memory_order_relaxed)) return {};
  }
}

}  // namespace server
