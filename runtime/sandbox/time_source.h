// The time that runs and pools go by, given to them so that their tests need not wait.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>

namespace runtime {

// Thread-safe.
class TimeSource {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A Sleeper is told that its time has come.
  class Sleeper {
   public:
    virtual void on_time() = 0;

   protected:
    ~Sleeper() = default;
  };

  // One time that is waited for. To be used on its executor.
  class Timer {
   public:
    virtual ~Timer() = default;

    // Tells `sleeper`, where it still is, on the timer's executor once `time` has come; what was
    // set before is forgotten, though it may be on its way already: a sleeper looks at the clock.
    virtual void set(Time time, std::weak_ptr<Sleeper> sleeper) = 0;
  };

  virtual ~TimeSource() = default;
  virtual Time now() const = 0;
  virtual std::unique_ptr<Timer> make_timer(const boost::asio::any_io_executor& executor) const = 0;
};

// The system's monotonic clock.
std::shared_ptr<const TimeSource> system_time();

}  // namespace runtime
