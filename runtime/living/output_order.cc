#include "runtime/living/output_order.h"

#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <memory>

namespace runtime {

std::uint64_t OutputOrder::take(std::size_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t place = end_;
  end_ += count;
  readers_.ring();
  return place;
}

std::uint64_t OutputOrder::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

boost::asio::awaitable<void> OutputOrder::wait_beyond(std::uint64_t place, Bell::Time deadline,
                                                      Cancel cancel) const {
  const auto bell = Bell::create(co_await boost::asio::this_coro::executor);
  const Cancel::Listener on_cancel(cancel, [bell] { Bell::ring(bell); });
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const bool is_late = std::chrono::steady_clock::now() >= deadline;
      if (end_ > place || is_late || cancel.requested()) co_return;
      readers_.add(bell);
    }
    co_await bell->wait(deadline);
  }
}

}  // namespace runtime
