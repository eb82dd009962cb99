// A histogram of durations, for percentiles and for Prometheus.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace runtime {

// Thread-safe and without locks: an observation is three additions. A snapshot that is taken
// meanwhile may miss an observation under way.
class Histogram {
 public:
  using Duration = std::chrono::microseconds;

  // The upper bounds that Prometheus gets; above the last one there is only infinity.
  static constexpr std::array<std::int64_t, 18> bounds_us = {
      50,     100,     250,     500,     1'000,     2'500,     5'000,     10'000,     25'000,
      50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000, 60'000'000};

  void observe(Duration duration);

  std::uint64_t count() const;
  Duration sum() const;
  // The number of observations up to each bound; the last entry is the number of all.
  std::array<std::uint64_t, bounds_us.size() + 1> cumulative() const;
  // The duration that `share` (0 .. 1) of all observations did not exceed, exact to 4 %; 0 where
  // there are none.
  Duration percentile(double share) const;

 private:
  // Sixteen steps for each power of two, up to 2^32 us: more than an hour.
  static constexpr std::size_t steps = 16;
  static constexpr std::size_t cells = 29 * steps;
  static std::size_t cell_of(std::uint64_t duration);
  static std::uint64_t middle_of(std::size_t cell);

  std::array<std::atomic<std::uint64_t>, bounds_us.size() + 1> buckets_{};
  std::array<std::atomic<std::uint64_t>, cells> fine_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace runtime
