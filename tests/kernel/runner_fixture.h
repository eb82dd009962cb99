// A Runner on two threads, for tests that are not coroutines.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "runtime/sandbox/runner.h"
#include "tests/time_scale.h"

class RunnerTest : public testing::Test {
 protected:
  using Outcome = jail::Result<runtime::RunResult>;

  boost::asio::thread_pool pool_{2};
  std::unique_ptr<runtime::Runner> runner_;

  void create(runtime::RunnerOptions options = {}) {
    auto created = runtime::Runner::create(pool_.get_executor(), std::move(options));
    ASSERT_TRUE(created) << created.error().message();
    runner_ = std::move(*created);
  }

  // Pools are watched as long as there is a runner, so only waiting would never end.
  void TearDown() override {
    pool_.stop();
    pool_.join();
  }

  std::future<Outcome> begin(runtime::RunRequest request, runtime::RunOptions options = {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    auto future = promise->get_future();
    boost::asio::co_spawn(pool_, work(std::move(request), std::move(options), promise),
                          boost::asio::detached);
    return future;
  }

  boost::asio::awaitable<void> work(runtime::RunRequest request, runtime::RunOptions options,
                                    std::shared_ptr<std::promise<Outcome>> promise) {
    auto result = co_await runner_->run(std::move(request), std::move(options));
    promise->set_value(std::move(result));
  }

  runtime::RunResult run(runtime::RunRequest request, runtime::RunOptions options = {}) {
    auto result = begin(std::move(request), std::move(options)).get();
    EXPECT_TRUE(result) << result.error().message();
    return result ? std::move(*result) : runtime::RunResult{};
  }
};

// The request has time to end on a slow host, up to the longest that a runner grants.
inline runtime::RunRequest python(std::string code) {
  runtime::RunRequest request;
  request.timeout = std::min(scaled(request.timeout), runtime::RunnerOptions().max_timeout);
  request.code = std::move(code);
  return request;
}
