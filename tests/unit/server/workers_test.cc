#include "server/cli/workers.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>

#include "tests/time_scale.h"

namespace server {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

std::thread::id thread_of(const asio::any_io_executor& executor) {
  return asio::post(executor, asio::use_future([] { return std::this_thread::get_id(); })).get();
}

TEST(Workers, EachHasAThreadOfItsOwn) {
  const Workers workers(2);
  const auto executors = workers.executors();
  ASSERT_EQ(executors.size(), 2u);
  EXPECT_NE(thread_of(executors[0]), thread_of(executors[1]));
  EXPECT_EQ(thread_of(executors[0]), thread_of(executors[0]));
}

TEST(Workers, AVisitWaitsForTheOneThatHangs) {
  const Workers workers(2);
  const auto executors = workers.executors();
  std::promise<void> go_on;
  asio::post(executors[1], [&] { go_on.get_future().wait(); });
  auto visit = asio::co_spawn(executors[0], workers.visit(), asio::use_future);
  EXPECT_EQ(visit.wait_for(50ms), std::future_status::timeout);
  go_on.set_value();
  EXPECT_EQ(visit.wait_for(scaled(10s)), std::future_status::ready);
}

asio::awaitable<void> wait_for_ever(std::shared_ptr<int> held, asio::any_io_executor other) {
  asio::steady_timer timer(other, asio::steady_timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  *held = 0;
}

// Each loop holds an object that belongs to the other.
TEST(Workers, WhatWaitsIsDroppedInAnyOrder) {
  const auto held = std::make_shared<int>(1);
  {
    const Workers workers(2);
    const auto executors = workers.executors();
    for (int i = 0; i < 2; ++i) {
      asio::co_spawn(executors[i], wait_for_ever(held, executors[1 - i]), asio::detached);
    }
    asio::co_spawn(executors[0], workers.visit(), asio::use_future).get();
    EXPECT_EQ(held.use_count(), 3);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace server
