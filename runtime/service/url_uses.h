// Counts the uses of signed URLs for events: the holder of one must not push out all other events.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace runtime {

// Thread-safe. The first uses are reported one by one, and further ones as time passes; uses that
// come faster are counted together.
class UrlUses {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::uint64_t told_at_once = 32;
  static constexpr std::chrono::seconds for_one_more{10};

  // Notes one use. Returns the number of uses since the last report, including this one;
  // std::nullopt where it is to be reported with a later one.
  std::optional<std::uint64_t> tell(Time now) {
    const std::lock_guard lock(mutex_);
    ++untold_;
    const auto more = static_cast<std::uint64_t>(std::max((now - since_) / for_one_more, 0L));
    if (more > 0) {
      left_ = std::min(left_ + more, told_at_once);
      since_ = now;
    }
    if (left_ == 0) return std::nullopt;
    --left_;
    return std::exchange(untold_, 0);
  }

 private:
  std::mutex mutex_;
  std::uint64_t left_ = told_at_once;
  std::uint64_t untold_ = 0;
  Time since_ = std::chrono::steady_clock::now();
};

}  // namespace runtime
