#include "runtime/sandbox/alarm.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace runtime {

namespace asio = boost::asio;

Alarm::Alarm(asio::any_io_executor executor, const TimeSource& clock, Cancel cancel)
    : executor_(std::move(executor)),
      clock_(clock),
      cancel_(std::move(cancel)),
      timer_(clock.make_timer(executor_)),
      forever_(executor_, asio::steady_timer::time_point::max()) {}

std::shared_ptr<Alarm> Alarm::create(asio::any_io_executor executor, const TimeSource& clock,
                                     Cancel cancel) {
  const std::shared_ptr<Alarm> alarm(new Alarm(std::move(executor), clock, std::move(cancel)));
  alarm->on_cancel_.emplace(alarm->cancel_, [weak = std::weak_ptr(alarm)] {
    auto self = weak.lock();
    if (self == nullptr) return;
    // Another thread may call this. wake() must run on the executor, and so must the destructor
    // where `self` has become the last owner.
    const asio::any_io_executor home = self->executor_;
    asio::post(home, [self = std::move(self)] { self->wake(); });
  });
  return alarm;
}

void Alarm::set_deadline(TimeSource::Time deadline) {
  deadline_ = deadline;
  timer_->set(deadline, weak_from_this());
}

asio::awaitable<void> Alarm::wait() {
  auto token = asio::redirect_error(asio::use_awaitable, woken_);
  return watched_ == nullptr ? forever_.async_wait(token)
                             : watched_->async_wait(watched_for_, token);
}

void Alarm::wake() {
  boost::system::error_code ignored;
  if (watched_ == nullptr) {
    forever_.cancel();
  } else {
    watched_->cancel(ignored);
  }
}

void Alarm::stop() { on_cancel_.reset(); }

Alarm::Watch::Watch(Alarm& alarm, int descriptor, Descriptor::wait_type what)
    : alarm_(alarm), descriptor_(alarm.executor_, descriptor) {
  alarm.watched_ = &descriptor_;
  alarm.watched_for_ = what;
}

Alarm::Watch::~Watch() {
  alarm_.watched_ = nullptr;
  descriptor_.release();
}

}  // namespace runtime
