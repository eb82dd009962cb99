// Awaits the result of a call on a loop of its own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace runtime::llm {

template <class Value>
boost::asio::awaitable<void> put_into(std::optional<Value>& place,
                                      boost::asio::awaitable<Value> call) {
  place.emplace(co_await std::move(call));
}

// `done` is called when the call is over, still on the loop.
template <class Value>
Value await_on(
    boost::asio::io_context& context, boost::asio::awaitable<Value> call,
    const std::function<void()>& done = [] {}) {
  std::optional<Value> place;
  boost::asio::co_spawn(context, put_into(place, std::move(call)),
                        [&](const std::exception_ptr& e) {
                          done();
                          if (e) std::rethrow_exception(e);
                        });
  context.run();
  return std::move(*place);
}

}  // namespace runtime::llm
