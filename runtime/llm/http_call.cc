#include "runtime/llm/http_call.h"

namespace runtime::llm {

namespace asio = boost::asio;

asio::awaitable<HttpCall::Waited> HttpCall::wait(Clock::time_point deadline) {
  constexpr auto token = asio::as_tuple(asio::use_awaitable);
  return asio::async_initiate<decltype(token), void(boost::system::error_code)>(
      StartWait{shared_from_this(), deadline}, token);
}

HttpCall::News HttpCall::take() {
  const std::lock_guard lock(mutex_);
  has_news_ = false;
  News news = std::exchange(news_, {});
  news_.status = news.status;
  return news;
}

void HttpCall::leave() {
  wanted_ = false;
  const std::lock_guard lock(mutex_);
  timer_.reset();
}

void HttpCall::add(int status, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  news_.status = status;
  news_.bytes += bytes;
  wake();
}

void HttpCall::finish(HttpOutcome end) {
  const std::lock_guard lock(mutex_);
  news_.end = std::move(end);
  wake();
}

void HttpCall::cancel() {
  wanted_ = false;
  const std::lock_guard lock(mutex_);
  news_.cancelled = true;
  wake();
}

// Must be called with the lock held, which makes one timer safe between two threads.
void HttpCall::wake() {
  has_news_ = true;
  if (timer_) timer_->cancel();
}

}  // namespace runtime::llm
