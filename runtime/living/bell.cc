#include "runtime/living/bell.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace runtime {

namespace asio = boost::asio;

asio::awaitable<void> Bell::wait(Time deadline) {
  timer_.expires_at(deadline);
  boost::system::error_code rung;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, rung));
}

void Bell::ring(std::shared_ptr<Bell> bell) {
  const auto home = bell->timer_.get_executor();
  asio::post(home, [bell = std::move(bell)] { bell->timer_.cancel(); });
}

void Bells::add(const std::shared_ptr<Bell>& bell) {
  if (bells_.size() >= many_) {
    std::erase_if(bells_, [](const auto& weak) { return weak.expired(); });
    many_ = std::max(few, 2 * bells_.size());
  }
  bells_.insert(bell);
}

void Bells::ring() {
  for (const auto& weak : std::exchange(bells_, {})) {
    if (auto bell = weak.lock()) Bell::ring(std::move(bell));
  }
}

}  // namespace runtime
