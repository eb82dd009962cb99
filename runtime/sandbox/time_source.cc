#include "runtime/sandbox/time_source.h"

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace runtime {
namespace {

class SystemTimer final : public TimeSource::Timer {
 public:
  explicit SystemTimer(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  void set(TimeSource::Time time, std::weak_ptr<TimeSource::Sleeper> sleeper) override {
    timer_.expires_at(time);
    timer_.async_wait([sleeper = std::move(sleeper)](const boost::system::error_code& error) {
      if (error) return;
      if (const auto living = sleeper.lock()) living->on_time();
    });
  }

 private:
  boost::asio::steady_timer timer_;
};

class SystemClock final : public TimeSource {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
  std::unique_ptr<Timer> make_timer(const boost::asio::any_io_executor& executor) const override {
    return std::make_unique<SystemTimer>(executor);
  }
};

}  // namespace

std::shared_ptr<const TimeSource> system_time() { return std::make_shared<const SystemClock>(); }

}  // namespace runtime
