// The clock of runs and pools, as a parameter, so that their tests need not wait.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

namespace runtime {

// Thread-safe.
class TimeSource {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The receiver of a timer's call.
  class Sleeper {
   public:
    virtual void on_time() = 0;

   protected:
    ~Sleeper() = default;
  };

  // A timer for one time. Must be used on its executor.
  class Timer {
   public:
    virtual ~Timer() = default;

    // Wakes `sleeper`, where it still exists, on the timer's executor once `time` has come.
    // Replaces an earlier time, whose call may already be under way, so a sleeper must look at the
    // clock.
    virtual void set(Time time, std::weak_ptr<Sleeper> sleeper) = 0;
  };

  virtual ~TimeSource() = default;
  virtual Time now() const = 0;
  virtual std::unique_ptr<Timer> make_timer(const boost::asio::any_io_executor& executor) const = 0;
};

// The system's monotonic clock.
std::shared_ptr<const TimeSource> system_time();

}  // namespace runtime
