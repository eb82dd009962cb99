// How often each caller may ask: a bucket of requests that fills at a steady pace.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace server {

struct RequestRate {
  std::chrono::nanoseconds interval;  // another request each
  std::uint32_t burst;                // what a full bucket holds; at least one
};

// Thread-safe and without locks.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Callers are numbered from 0. Their buckets are full.
  RateLimit(RequestRate rate, std::size_t callers);

  // Takes a request out of the caller's bucket. Not 0: it is empty for so long.
  std::chrono::nanoseconds take(std::size_t caller, Clock::time_point now);

 private:
  const std::int64_t interval_;
  const std::int64_t capacity_;  // as time: what it takes to fill the bucket
  // When each bucket will be full, in nanoseconds of the clock: all that there is to know of it.
  std::vector<std::atomic<std::int64_t>> full_at_;
};

}  // namespace server
