#include "runtime/agent/task_scope.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace runtime::agent {

namespace asio = boost::asio;

TaskScope::TaskScope(const asio::any_io_executor& executor, TaskRequest request,
                     TaskOptions options)
    : request_(std::move(request)),
      options_(std::move(options)),
      events_(options_.on_event),
      started_(Clock::now()),
      deadline_(started_ + request_.budget.time),
      cancel_(options_.cancel.child()),
      timer_(executor, deadline_) {
  timer_.async_wait([cancel = cancel_](const boost::system::error_code& error) {
    if (!error) cancel.request();
  });
}

std::optional<Stop> TaskScope::ended() const {
  if (options_.cancel.requested()) {
    return Stop{.status = TaskStatus::cancelled, .error = "cancelled"};
  }
  if (Clock::now() < deadline_) return std::nullopt;
  return Stop{.error = "the task's time of " +
                       std::to_string(
                           std::chrono::ceil<std::chrono::seconds>(request_.budget.time).count()) +
                       " s is used up"};
}

asio::awaitable<void> TaskScope::wait(std::chrono::milliseconds duration) const {
  const auto executor = co_await asio::this_coro::executor;
  const auto timer = std::make_shared<asio::steady_timer>(executor, duration);
  const Cancel::Listener on_cancel(cancel_, [timer, executor] {
    // The timer is set to the past instead of being cancelled, which also works where the wait has
    // not begun yet: there is nothing to cancel then.
    asio::post(executor, [timer] { timer->expires_at(asio::steady_timer::time_point::min()); });
  });
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

std::uint64_t TaskScope::tokens_left() const noexcept {
  return request_.budget.tokens - std::min(spent_, request_.budget.tokens);
}

}  // namespace runtime::agent
