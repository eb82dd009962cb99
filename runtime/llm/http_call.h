// One call, between the coroutine that awaits it and the thread that talks to the network.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

// The coroutine sleeps on a timer of its own executor, which the other side cuts short. So
// destroying the sleeping coroutine, even at the end of its io_context, ends the call, and nothing
// is ever run on an executor for a call that nobody awaits.
class HttpCall : public std::enable_shared_from_this<HttpCall> {
 public:
  using Clock = std::chrono::steady_clock;

  explicit HttpCall(boost::asio::any_io_executor executor)
      : timer_(std::in_place, std::move(executor)) {}

  // The events since the last look.
  struct News {
    int status = 0;  // 0: the reply has not begun
    std::string bytes;
    std::optional<HttpOutcome> end;  // a reply without its body
    bool cancelled = false;
  };

  // Called by the coroutine: returns when there are news, and at the deadline.
  using Waited = std::tuple<boost::system::error_code>;
  boost::asio::awaitable<Waited> wait(Clock::time_point deadline);
  News take();
  // The coroutine's last call: it may be gone afterwards.
  void leave();

  // Called by the network's thread.
  void add(int status, std::string_view bytes);
  void finish(HttpOutcome end);
  bool wanted() const noexcept { return wanted_; }

  // May be called by anybody.
  void cancel();

 private:
  struct StartWait {
    std::shared_ptr<HttpCall> call;
    Clock::time_point deadline;
    template <class Handler>
    void operator()(Handler handler) const {
      const std::lock_guard lock(call->mutex_);
      call->timer_->expires_at(call->has_news_ ? Clock::time_point{} : deadline);
      call->timer_->async_wait(std::move(handler));
    }
  };

  void wake();

  std::atomic<bool> wanted_{true};
  std::mutex mutex_;
  std::optional<boost::asio::steady_timer> timer_;  // nullopt: nobody awaits the call
  bool has_news_ = false;
  News news_;
};

}  // namespace runtime::llm
