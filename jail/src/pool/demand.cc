#include "pool/demand.h"

#include <algorithm>
#include <cmath>

namespace jail {
namespace {

constexpr double smoothing = 0.3;
// Arrivals come in bunches: as many as come in this many refill times at once are met.
constexpr double refill_times = 8;
// A pool shrinks by one after each of these; idle jails cost memory, a miss costs a request.
constexpr double seconds_to_shrink = 5;
// A zygote forks one guest after the other; more orders at once only wait for it.
constexpr std::size_t max_orders = 4;

}  // namespace

Demand::Demand(std::uint32_t least, std::uint32_t usual, std::uint32_t most)
    : min_(least), max_(most), target_(usual) {}

void Demand::made(double seconds) { make_time_ += smoothing * (seconds - make_time_); }

void Demand::content_with(std::size_t count) {
  const auto enough = static_cast<std::uint32_t>(std::min<std::size_t>(count, target_));
  target_ = std::max(enough, min_);
  quiet_ = 0;
}

std::size_t Demand::to_order(std::size_t ready, std::size_t making) const {
  const std::size_t there = ready + making;
  const std::size_t at_once = ready > target_ / 2 ? 1 : max_orders;
  if (there >= target_ || making >= at_once) return 0;
  return std::min(target_ - there, at_once - making);
}

void Demand::tick(double seconds) {
  if (seconds <= 0) return;
  const double now = leases_ / seconds;
  // Up at once, down slowly.
  rate_ = now > rate_ ? now : rate_ + smoothing * (now - rate_);
  const double needed = min_ + rate_ * std::min(make_time_, 0.1) * refill_times;
  std::uint32_t wanted = needed >= max_ ? max_ : static_cast<std::uint32_t>(std::ceil(needed));
  if (misses_ > 0) wanted = std::max(wanted, target_ + std::max(1u, target_ / 2));
  wanted = std::clamp(wanted, min_, max_);
  if (wanted >= target_) {
    target_ = wanted;
    quiet_ = 0;
  } else if ((quiet_ += seconds) >= seconds_to_shrink) {
    --target_;
    quiet_ = 0;
  }
  leases_ = 0;
  misses_ = 0;
}

}  // namespace jail
