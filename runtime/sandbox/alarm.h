// Ends the wait of a run early: a deadline, a cancellation or a call of another thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "runtime/sandbox/cancel.h"
#include "runtime/sandbox/time_source.h"

namespace runtime {

// Collects a deadline, a cancellation, and calls from other threads. Must be used on its executor,
// which must run one handler at a time, by one coroutine, which looks whether there is something to
// do and calls wait() where there is not.
class Alarm final : public TimeSource::Sleeper, public std::enable_shared_from_this<Alarm> {
 public:
  using Descriptor = boost::asio::posix::stream_descriptor;

  // `clock` must outlive it.
  static std::shared_ptr<Alarm> create(boost::asio::any_io_executor executor,
                                       const TimeSource& clock, Cancel cancel);

  const boost::asio::any_io_executor& executor() const noexcept { return executor_; }

  // Replaces the earlier deadline.
  void set_deadline(TimeSource::Time deadline);
  bool deadline_passed() const { return clock_.now() >= deadline_; }
  bool cancelled() const noexcept { return cancel_.requested(); }

  // Suspends until the watched descriptor is ready, or until wake(), which the deadline and the
  // cancellation call as well. A call of either may have been meant for an earlier wait.
  boost::asio::awaitable<void> wait();
  // Returns whether the last wait() ended without its descriptor being ready.
  bool was_woken() const noexcept { return woken_.failed(); }
  void wake();

  // Must be called when nobody waits any more: stops listening for the cancellation.
  void stop();

  // Watches a descriptor as long as the object exists. Does not own it, and must be destroyed
  // before it is closed.
  class Watch {
   public:
    Watch(Alarm& alarm, int descriptor, Descriptor::wait_type what = Descriptor::wait_read);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Alarm& alarm_;
    Descriptor descriptor_;
  };

 private:
  Alarm(boost::asio::any_io_executor executor, const TimeSource& clock, Cancel cancel);
  void on_time() override { wake(); }

  const boost::asio::any_io_executor executor_;
  const TimeSource& clock_;
  const Cancel cancel_;
  const std::unique_ptr<TimeSource::Timer> timer_;
  TimeSource::Time deadline_ = TimeSource::Time::max();
  Descriptor* watched_ = nullptr;
  Descriptor::wait_type watched_for_ = Descriptor::wait_read;
  boost::asio::steady_timer forever_;  // pending where wait() has no descriptor to watch
  boost::system::error_code woken_;
  std::optional<Cancel::Listener> on_cancel_;
};

}  // namespace runtime
