// A clock that stands still until a test moves it.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/sandbox/time_source.h"

namespace runtime {

// Must be used by one thread. Must outlive its timers.
class ManualClock final : public TimeSource {
 public:
  Time now() const override { return now_; }

  std::unique_ptr<Timer> make_timer(const boost::asio::any_io_executor& executor) const override {
    return std::make_unique<ManualTimer>(*this, executor);
  }

  // Wakes those whose time has come by then, on their executors.
  void advance(std::chrono::milliseconds time) {
    now_ += time;
    for (ManualTimer* timer : timers_) timer->tell();
  }

 private:
  class ManualTimer final : public Timer {
   public:
    ManualTimer(const ManualClock& clock, boost::asio::any_io_executor executor)
        : clock_(clock), executor_(std::move(executor)) {
      clock_.timers_.push_back(this);
    }
    ~ManualTimer() override { std::erase(clock_.timers_, this); }

    void set(Time time, std::weak_ptr<Sleeper> sleeper) override {
      time_ = time;
      sleeper_ = std::move(sleeper);
      tell();
    }

    void tell() {
      if (!time_ || *time_ > clock_.now()) return;
      time_.reset();
      boost::asio::post(executor_, [sleeper = sleeper_] {
        if (const auto living = sleeper.lock()) living->on_time();
      });
    }

   private:
    const ManualClock& clock_;
    const boost::asio::any_io_executor executor_;
    std::optional<Time> time_;  // nullopt: no time is awaited
    std::weak_ptr<Sleeper> sleeper_;
  };

  Time now_{std::chrono::hours(1)};
  mutable std::vector<ManualTimer*> timers_;
};

}  // namespace runtime
