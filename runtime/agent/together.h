// Runs several coroutines at once and awaits them as one.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace runtime::agent {

// Returns the results of `parts`, in their order, when the last one has finished. The executor runs
// one handler at a time, so the parts may share state. If a part throws, its exception is rethrown
// here after the others have ended.
template <class T>
boost::asio::awaitable<std::vector<T>> together(std::vector<boost::asio::awaitable<T>> parts) {
  struct Shared {
    explicit Shared(const boost::asio::any_io_executor& executor) : over(executor) {}
    boost::asio::steady_timer over;
    std::vector<std::optional<T>> values;
    std::exception_ptr thrown;
    std::size_t left = 0;
  };
  const auto executor = co_await boost::asio::this_coro::executor;
  const auto shared = std::make_shared<Shared>(executor);
  shared->over.expires_at(boost::asio::steady_timer::time_point::max());
  shared->values.resize(parts.size());
  shared->left = parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    boost::asio::co_spawn(executor, std::move(parts[i]),
                          [shared, i](std::exception_ptr thrown, T value) {
                            if (thrown) shared->thrown = thrown;
                            if (!thrown) shared->values[i].emplace(std::move(value));
                            if (--shared->left == 0) shared->over.cancel();
                          });
  }
  while (shared->left > 0) {
    boost::system::error_code ignored;
    co_await shared->over.async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  if (shared->thrown) std::rethrow_exception(shared->thrown);
  std::vector<T> values;
  for (std::optional<T>& value : shared->values) values.push_back(std::move(*value));
  co_return values;
}

}  // namespace runtime::agent
