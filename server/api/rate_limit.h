// Bounds the rate of each caller's requests: a bucket of requests that fills at a steady pace.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace server {

struct RequestRate {
  std::chrono::nanoseconds interval;  // the time for one more request
  std::uint32_t burst;                // the capacity of a bucket; at least one
};

// Thread-safe and without locks.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // Callers are numbered from 0. Their buckets are full.
  RateLimit(RequestRate rate, std::size_t callers);

  // Takes a request out of the caller's bucket. Returns 0, or how long the bucket stays empty.
  std::chrono::nanoseconds take(std::size_t caller, Clock::time_point now);

 private:
  const std::int64_t interval_;
  const std::int64_t capacity_;  // as a duration: the time that fills the bucket
  // The time at which each bucket will be full, in nanoseconds of the clock, which is its whole
  // state.
  std::vector<std::atomic<std::int64_t>> full_at_;
};

}  // namespace server
