// Runs work that would block an executor on another one.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <type_traits>
#include <utility>

namespace runtime {

// Returns the result of `work`, which may be move-only. The coroutine resumes on its own executor.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> do_elsewhere(
    boost::asio::any_io_executor executor, Work work) {
  namespace asio = boost::asio;
  using Done = std::invoke_result_t<Work&>;
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Done)>(
      [](auto handler, const asio::any_io_executor& there, Work what) {
        asio::post(there, [handler = std::move(handler), what = std::move(what)]() mutable {
          // The coroutine is released on its own executor.
          const auto home = asio::get_associated_executor(handler);
          asio::post(home, [handler = std::move(handler), done = what()]() mutable {
            std::move(handler)(std::move(done));
          });
        });
      },
      asio::use_awaitable, std::move(executor), std::move(work));
}

}  // namespace runtime
