#include "runtime/observe/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace runtime {

// Each value below 16 has its own cell; above, the four bits after the leading one select it.
std::size_t Histogram::cell_of(std::uint64_t duration) {
  if (duration < steps) return duration;
  const auto exponent = static_cast<std::size_t>(std::bit_width(duration)) - 1;
  const std::size_t step = (duration >> (exponent - 4)) & (steps - 1);
  return std::min((exponent - 3) * steps + step, cells - 1);
}

std::uint64_t Histogram::middle_of(std::size_t cell) {
  if (cell < steps) return cell;
  const std::size_t exponent = cell / steps + 3;
  const std::uint64_t width = 1ull << (exponent - 4);
  return (1ull << exponent) + (cell % steps) * width + width / 2;
}

void Histogram::observe(Duration duration) {
  const std::int64_t value = std::max<std::int64_t>(duration.count(), 0);
  const auto bucket = std::lower_bound(bounds_us.begin(), bounds_us.end(), value);
  const auto index = static_cast<std::size_t>(bucket - bounds_us.begin());
  buckets_[index].fetch_add(1, std::memory_order_relaxed);
  const auto unsigned_value = static_cast<std::uint64_t>(value);
  fine_[cell_of(unsigned_value)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(unsigned_value, std::memory_order_relaxed);
}

std::array<std::uint64_t, Histogram::bounds_us.size() + 1> Histogram::cumulative() const {
  std::array<std::uint64_t, bounds_us.size() + 1> counts{};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += buckets_[i].load(std::memory_order_relaxed);
    counts[i] = total;
  }
  return counts;
}

std::uint64_t Histogram::count() const { return cumulative().back(); }

Histogram::Duration Histogram::sum() const {
  return Duration(static_cast<std::int64_t>(sum_.load(std::memory_order_relaxed)));
}

Histogram::Duration Histogram::percentile(double share) const {
  std::array<std::uint64_t, cells> counts{};
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    counts[i] = fine_[i].load(std::memory_order_relaxed);
    total += counts[i];
  }
  if (total == 0) return Duration(0);
  const auto wanted = static_cast<std::uint64_t>(
      std::max(1.0, std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(total))));
  std::uint64_t seen = 0;
  std::size_t cell = 0;
  while (cell + 1 < cells && seen + counts[cell] < wanted) seen += counts[cell++];
  return Duration(static_cast<std::int64_t>(middle_of(cell)));
}

}  // namespace runtime
