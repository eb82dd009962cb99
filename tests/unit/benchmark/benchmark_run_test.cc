#include <gmock/gmock.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>

#include "runtime/benchmark/benchmark.h"

namespace runtime::benchmark {
namespace {

namespace asio = boost::asio;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

agent::Attempt attempt(std::uint32_t number, Status status) {
  agent::Attempt made;
  made.number = number;
  made.result.emplace();
  made.result->status = status;
  return made;
}

agent::TaskResult solved_at(std::uint32_t number) {
  agent::TaskResult result;
  for (std::uint32_t i = 1; i < number; ++i) result.history.push_back(attempt(i, Status::error));
  result.history.push_back(attempt(number, Status::success));
  result.status = agent::TaskStatus::completed;
  result.usage["one"] = {.input_tokens = 100, .output_tokens = 10};
  result.usage["other"] = {.input_tokens = 1, .output_tokens = 2};
  return result;
}

TEST(TaskScores, CountWhatRan) {
  const TaskScore score = score_of("a", solved_at(2), std::chrono::milliseconds(5));
  EXPECT_EQ(score.solved_at, 2u);
  EXPECT_EQ(score.attempts, 2u);
  EXPECT_EQ(score.usage.input_tokens, 101u);
  EXPECT_EQ(score.usage.output_tokens, 12u);
  EXPECT_EQ(score.error, "");
  EXPECT_FALSE(score.solved_within(1));
  EXPECT_TRUE(score.solved_within(3));
}

TEST(TaskScores, WhatIsSaidDoesNotCount) {
  agent::TaskResult said;
  said.status = agent::TaskStatus::completed;
  said.output = "all tests passed";
  EXPECT_EQ(score_of("a", said, {}).solved_at, 0u);
  EXPECT_EQ(score_of("a", said, {}).error, "no program was run");
  said.history.emplace_back();  // not run
  EXPECT_EQ(score_of("a", said, {}).attempts, 0u);
  said.history.push_back(attempt(1, Status::timeout));
  EXPECT_EQ(score_of("a", said, {}).solved_at, 0u);
  EXPECT_EQ(score_of("a", said, {}).error, "no program passed the tests");
}

TEST(TaskScores, ARoundOfCandidatesIsOneAttempt) {
  agent::TaskResult result;
  for (const Status status : {Status::error, Status::success, Status::error}) {
    result.history.push_back(attempt(1, status));
  }
  EXPECT_EQ(score_of("a", result, {}).attempts, 1u);
  EXPECT_EQ(score_of("a", result, {}).solved_at, 1u);
}

TEST(TaskScores, ACandidateThatWasNotVerifiedHasSolvedNothing) {
  agent::TaskResult result;
  result.error = "cancelled";
  result.history = {attempt(1, Status::success), attempt(1, Status::success)};
  for (agent::Attempt& each : result.history) each.verification = agent::Verification::lacking;
  EXPECT_EQ(score_of("a", result, {}).solved_at, 0u);
  EXPECT_EQ(score_of("a", result, {}).error, "cancelled");
  result.history[1].verification = agent::Verification::passed;
  EXPECT_EQ(score_of("a", result, {}).solved_at, 1u);
}

Suite suite_of(std::size_t size) {
  Suite suite;
  suite.name = "mine";
  for (std::size_t i = 0; i < size; ++i) {
    suite.tasks.emplace_back();
    suite.tasks.back().id = std::to_string(i);
    suite.tasks.back().task = "task " + std::to_string(i);
    suite.tasks.back().tests = "assert True\n";
    suite.tasks.back().files.push_back({"in.csv", "a,b\n"});
  }
  return suite;
}

class BenchmarkRun : public ::testing::Test {
 protected:
  BenchmarkReport run(Suite suite, BenchmarkOptions options, Solve solve) {
    BenchmarkReport report;
    const auto work = [&]() -> asio::awaitable<void> {
      report = co_await run_benchmark(std::move(suite), std::move(options), std::move(solve));
    };
    asio::co_spawn(pool_, work(), asio::use_future).get();
    return report;
  }

  asio::thread_pool pool_{3};
};

TEST_F(BenchmarkRun, EachTaskIsSolvedOnceInBoundedNumbers) {
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> wrong{0};
  BenchmarkOptions options;
  options.at_once = 3;
  options.max_attempts = 2;
  options.model = "m";
  std::vector<std::string> watched;
  options.on_score = [&](const TaskScore& score) { watched.push_back(score.id); };
  const Solve solve = [&](agent::TaskRequest request,
                          Cancel) -> asio::awaitable<agent::TaskResult> {
    most = std::max(most.load(), ++running);
    if (request.tests != "assert True\n" || request.files.size() != 1 || request.model != "m" ||
        request.max_attempts != 2 || request.lessons != agent::Lessons::off) {
      ++wrong;
    }
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(2));
    co_await timer.async_wait(asio::use_awaitable);
    --running;
    co_return solved_at(request.task.ends_with("0") ? 1 : 2);
  };
  const BenchmarkReport report = run(suite_of(20), options, solve);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(most, 3);
  EXPECT_EQ(watched.size(), 20u);
  ASSERT_EQ(report.tasks.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(report.tasks[i].id, std::to_string(i));
  EXPECT_EQ(report.solved_within(1), 2u);
  EXPECT_EQ(report.solved_within(3), 20u);
  EXPECT_DOUBLE_EQ(report.attempts_each(), 1.9);
  EXPECT_EQ(report.usage().input_tokens, 2020u);
}

TEST_F(BenchmarkRun, CountsByTheAttemptsThatThereWere) {
  BenchmarkOptions options;
  options.max_attempts = 0;
  const Solve solve = [](agent::TaskRequest request, Cancel) -> asio::awaitable<agent::TaskResult> {
    co_return solved_at(request.max_attempts);
  };
  const BenchmarkReport report = run(suite_of(2), options, solve);
  EXPECT_EQ(report.solved_within(report.max_attempts), 2u);
}

TEST_F(BenchmarkRun, OnlySoManyTasks) {
  BenchmarkOptions options;
  options.max_tasks = 3;
  const Solve solve = [](agent::TaskRequest, Cancel) -> asio::awaitable<agent::TaskResult> {
    co_return solved_at(1);
  };
  EXPECT_EQ(run(suite_of(9), options, solve).tasks.size(), 3u);
  EXPECT_EQ(run(suite_of(0), options, solve).tasks.size(), 0u);
}

TEST_F(BenchmarkRun, AnExceptionIsOneFailedTask) {
  const Solve solve = [](agent::TaskRequest request, Cancel) -> asio::awaitable<agent::TaskResult> {
    if (request.task == "task 1") throw std::runtime_error("broken");
    co_return solved_at(1);
  };
  const BenchmarkReport report = run(suite_of(3), {}, solve);
  ASSERT_EQ(report.tasks.size(), 3u);
  EXPECT_EQ(report.solved_within(1), 2u);
  EXPECT_THAT(report.tasks[1].error, HasSubstr("broken"));
}

TEST_F(BenchmarkRun, ACancelReachesThoseThatRunAndStartsNoMore) {
  BenchmarkOptions options;
  options.at_once = 2;
  const Cancel cancel = options.cancel;
  std::atomic<int> begun{0};
  std::atomic<int> told{0};
  const Solve solve = [&](agent::TaskRequest request,
                          Cancel mine) -> asio::awaitable<agent::TaskResult> {
    ++begun;
    if (request.task == "task 0") co_return solved_at(1);
    if (begun == 3) cancel.request();
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!mine.requested()) {
      timer.expires_after(std::chrono::milliseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    ++told;
    agent::TaskResult result;
    result.status = agent::TaskStatus::cancelled;
    co_return result;
  };
  const BenchmarkReport report = run(suite_of(50), options, solve);
  EXPECT_EQ(begun, 3);
  EXPECT_EQ(told, 2);
  ASSERT_EQ(report.tasks.size(), 1u);
  EXPECT_EQ(report.tasks[0].id, "0");
  EXPECT_EQ(report.asked, 50u);
}

}  // namespace
}  // namespace runtime::benchmark
