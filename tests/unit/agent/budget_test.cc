// The events that end a task before it is solved: cancelling, time, tokens, a provider that fails.
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/time_scale.h"
#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class BudgetTest : public LoopTest {
 protected:
  // A task that goes through every state when nothing ends it: tests by a model, two candidates,
  // a failed round, a critique, a verification.
  TaskRequest long_task() {
    model_.otherwise[Role::tester] = {.text = tested("assert True")};
    model_.otherwise[Role::coder] = {.text = coded("print(42)")};
    model_.otherwise[Role::critic] = {.text = criticism("bad")};
    fail_first(2);
    TaskRequest request = task();
    request.candidates = 2;
    request.tests_by_model = TestsByModel::first;
    return request;
  }

  void expect_quick_cancel(const TaskResult& result, std::size_t in_history) {
    EXPECT_EQ(result.status, TaskStatus::cancelled);
    EXPECT_EQ(result.error, "cancelled");
    EXPECT_EQ(result.history.size(), in_history);
    EXPECT_EQ(reported_.size(), in_history);
    EXPECT_LT(result.execution_time, milliseconds(5000));
  }
};

TEST_F(BudgetTest, TheLongTaskIsSolvedWhenNothingEndsIt) {
  const TaskResult result = run(long_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(jails_.requests.size(), 5u);  // two rounds of two, and the verification
}

TEST_F(BudgetTest, CancelledBeforeItBegins) {
  cancel_.request();
  expect_quick_cancel(run(long_task()), 0);
  EXPECT_TRUE(model_.asked.empty());
}

TEST_F(BudgetTest, CancelledWhileTestsAreWritten) {
  TaskRequest request = long_task();
  model_.play(Role::tester, {.never = true});
  cancel_at_ = "generating";
  expect_quick_cancel(run(std::move(request)), 0);
}

TEST_F(BudgetTest, CancelledWhileProgramsAreWritten) {
  TaskRequest request = long_task();
  std::promise<void> both;
  model_.play(Role::coder, {.never = true});
  model_.play(Role::coder, {.never = true, .on_ask = [&] { both.set_value(); }});
  std::thread later([this, asked = both.get_future()] {
    asked.wait_for(scaled(seconds(10)));
    std::this_thread::sleep_for(milliseconds(50));
    cancel_.request();
  });
  expect_quick_cancel(run(std::move(request)), 0);
  later.join();
  EXPECT_EQ(model_.of(Role::coder).size(), 2u);
  EXPECT_TRUE(jails_.requests.empty());
}

TEST_F(BudgetTest, CancelledWhileProgramsRun) {
  TaskRequest request = long_task();
  jails_.program = [this](const RunRequest&) {
    jails_.hang = true;
    if (jails_.max_at_once == 2) cancel_.request();
    return exited(0);
  };
  const TaskResult result = run(std::move(request));
  expect_quick_cancel(result, 2);
  EXPECT_EQ(jails_.cancelled, 2);
  EXPECT_EQ(result.history[0].result->status, Status::cancelled);
  EXPECT_EQ(result.code, "print(42)");
}

TEST_F(BudgetTest, CancelledBeforeProgramsRun) {
  TaskRequest request = long_task();
  cancel_at_ = "executing";
  const TaskResult result = run(std::move(request));
  expect_quick_cancel(result, 2);
  EXPECT_TRUE(jails_.requests.empty());
  EXPECT_FALSE(result.history[0].result.has_value());
}

TEST_F(BudgetTest, CancelledWhileTheCriticThinks) {
  TaskRequest request = long_task();
  model_.play(Role::critic, {.never = true});
  cancel_at_ = "critiquing";
  expect_quick_cancel(run(std::move(request)), 2);
}

TEST_F(BudgetTest, CancelledWhileTheBestIsVerified) {
  TaskRequest request = long_task();
  jails_.program = [this](const RunRequest&) {
    jails_.hang = jails_.requests.size() == 3;
    if (jails_.hang) cancel_.request();
    return exited(0);
  };
  expect_quick_cancel(run(std::move(request)), 2);
  EXPECT_EQ(jails_.cancelled, 1);
}

TEST_F(BudgetTest, CancelledWhileAFullQueueIsWaitedFor) {
  TaskRequest request = task();
  model_.play(Role::coder, coded("print(42)"));
  std::chrono::steady_clock::time_point cancelled;
  jails_.program = [&](const RunRequest&) -> FakeJails::Answer {
    if (jails_.requests.size() == 5) {
      cancelled = std::chrono::steady_clock::now();
      cancel_.request();
    }
    return jail::Error{jail::ErrorKind::exhausted, "the queue is full", 0, {}};
  };
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::cancelled);
  EXPECT_EQ(jails_.requests.size(), 5u);
  EXPECT_LT(std::chrono::steady_clock::now() - cancelled, milliseconds(1600)) << "the fifth wait";
}

TEST_F(BudgetTest, AFullQueueIsWaitedForAsLongAsThereIsTime) {
  TaskRequest request = task();
  const seconds time = std::chrono::ceil<seconds>(scaled(seconds(1)));
  request.budget.time = time;
  model_.play(Role::coder, coded("print(42)"));
  jails_.program = [](const RunRequest&) -> FakeJails::Answer {
    return jail::Error{jail::ErrorKind::exhausted, "the queue is full", 0, {}};
  };
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.error, "the task's time of " + std::to_string(time.count()) +
                              " s is used up; too many programs run or wait on this host");
  EXPECT_THAT(result.host_error, HasSubstr("the queue is full"));
}

TEST_F(BudgetTest, AHostWithoutRoomIsWaitedForAndNamed) {
  TaskRequest request = task();
  request.budget.time = scaled(seconds(1));
  model_.play(Role::coder, coded("print(42)"));
  jails_.program = [](const RunRequest&) -> FakeJails::Answer {
    return jail::Error{jail::ErrorKind::exhausted, "make a pipe", EMFILE, {}};
  };
  EXPECT_THAT(run(std::move(request)).error,
              HasSubstr("; this host has no room for another program"));
}

TEST_F(BudgetTest, TimeEndsAModelCall) {
  TaskRequest request = task();
  request.budget.time = milliseconds(60);
  model_.play(Role::coder, {.never = true});
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.error, "the task's time of 1 s is used up");
  EXPECT_LT(result.execution_time, milliseconds(3000));
}

TEST_F(BudgetTest, TimeEndsAJail) {
  TaskRequest request = task();
  request.budget.time = scaled(seconds(1));
  model_.play(Role::coder, coded("while True: pass"));
  jails_.hang = true;
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_THAT(result.error, HasSubstr("is used up"));
  EXPECT_EQ(jails_.cancelled, 1);
  EXPECT_EQ(result.history.size(), 1u);
}

TEST_F(BudgetTest, TokensEndIt) {
  TaskRequest request = task();
  request.max_attempts = 10;
  request.budget.tokens = 12'000;
  model_.usage_of_a_call = {.input_tokens = 1000, .output_tokens = 2000};
  model_.otherwise[Role::coder] = {.text = coded("bad()")};
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_first(99);
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.error, "the task's 12000 tokens are used up");
  EXPECT_EQ(result.history.size(), 2u);
  const llm::Usage& usage = result.usage.at("scripted");
  EXPECT_LE(usage.input_tokens + usage.output_tokens, 12'000u);
  EXPECT_LT(model_.asked.back().request.max_output_tokens, 4096u);
}

TEST_F(BudgetTest, TokensThatNobodyCountedAreEstimated) {
  TaskRequest request = task(std::string(8000, 't'));
  request.max_attempts = 10;
  request.budget.tokens = 8000;
  model_.usage_of_a_call = {};
  model_.otherwise[Role::coder] = {.text = coded("bad()")};
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_first(99);
  EXPECT_THAT(run(std::move(request)).error, HasSubstr("tokens are used up"));
  EXPECT_LE(model_.asked.size(), 4u);
}

TEST_F(BudgetTest, CallsAtOnceShareTheTokens) {
  TaskRequest request = task(std::string(8000, 't'));
  request.candidates = 8;
  request.max_attempts = 1;
  request.budget.tokens = 9000;
  model_.usage_of_a_call = {.input_tokens = 2500, .output_tokens = 500};
  model_.otherwise[Role::coder] = {.text = coded("print(42)")};
  const TaskResult result = run(std::move(request));
  EXPECT_TRUE(result.success()) << result.error;  // answered calls go on
  const llm::Usage& usage = result.usage.at("scripted");
  EXPECT_LE(usage.input_tokens + usage.output_tokens, 9000u);
}

TEST_F(BudgetTest, OutputOfEarlierRoundsIsShortened) {
  model_.otherwise[Role::coder] = {.text = coded("print('x' * 1000000)")};
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  jails_.program = [](const RunRequest&) {
    return exited(1, std::string(1'000'000, 'x'), std::string(1'000'000, 'y') + "\nboom\n");
  };
  TaskRequest request = task();
  request.max_attempts = 4;
  const TaskResult result = run(std::move(request));
  ASSERT_EQ(result.history.size(), 4u);
  EXPECT_EQ(result.output.size(), 1'000'000u);
  for (std::size_t at = 0; at < 2; ++at) {
    const RunResult& earlier = *result.history[at].result;
    EXPECT_LT(earlier.standard_output.size(), 64u << 10);
    EXPECT_LT(earlier.standard_error.size(), 64u << 10);
    EXPECT_TRUE(earlier.stdout_truncated);
    EXPECT_TRUE(earlier.standard_error.ends_with("\nboom\n"));
  }
}

TEST_F(BudgetTest, ACriticsLastWordsAreBoundedInTheError) {
  model_.otherwise[Role::coder] = {.text = coded("print(42)")};
  model_.play(Role::critic, criticism("hopeless " + std::string(200'000, 'x'), false, 1));
  fail_first(99);
  const TaskResult result = run(task());
  EXPECT_THAT(result.error, testing::StartsWith("the critic sees no solution: hopeless xxx"));
  EXPECT_LT(result.error.size(), 1000u);
  EXPECT_GT(result.history[0].critique->diagnosis.size(), 200'000u);
}

TEST_F(BudgetTest, WhatThrowsEndsTheTaskWithItsHistory) {
  model_.otherwise[Role::coder] = {.text = coded("print(42)")};
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  jails_.program = [this](const RunRequest&) {
    if (jails_.requests.size() == 2) throw std::runtime_error("out of luck");
    return exited(1);
  };
  const TaskResult result = run(task());
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.error, "the agent failed: out of luck");
  EXPECT_EQ(result.history.size(), 2u);
}

class FailingProvider : public BudgetTest, public testing::WithParamInterface<Role> {};

TEST_P(FailingProvider, EndsTheTaskWithItsWords) {
  TaskRequest request = long_task();
  request.candidates = 1;
  const Role role = GetParam();
  const bool in_swarm = role == Role::architect || role == Role::reviewer ||
                        role == Role::security || role == Role::optimizer;
  if (in_swarm) request.team = Team::swarm;
  const std::string votes = R"({"approve": true, "confidence": 1, "findings": []})";
  model_.otherwise[Role::architect] = {.text = R"({"plan": "p", "pitfalls": []})"};
  model_.otherwise[Role::reviewer] = {.text = votes};
  model_.otherwise[Role::security] = {.text = votes};
  model_.play(role, {.failure = ScriptedProvider::failure(
                         llm::Fault::unauthorized, 401,
                         "scripted: 401 Invalid API Key; check SCRIPTED_API_KEY")});
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.error, "scripted: 401 Invalid API Key; check SCRIPTED_API_KEY");
  EXPECT_EQ(result.provider_status, 401);
  EXPECT_EQ(result.history.size(), role == Role::critic ? 1u : 0u);
  EXPECT_EQ(reported_.size(), result.history.size());
}

INSTANTIATE_TEST_SUITE_P(Roles, FailingProvider,
                         testing::Values(Role::coder, Role::critic, Role::tester, Role::architect,
                                         Role::reviewer, Role::security, Role::optimizer));

TEST_F(BudgetTest, AProviderThatFailsLaterLeavesTheHistory) {
  model_.play(Role::coder, coded("bad()"));
  model_.play(Role::critic, criticism("bad"));
  model_.play(Role::coder, {.failure = ScriptedProvider::failure(llm::Fault::rate_limited, 429,
                                                                 "scripted: 429 slow down")});
  fail_first(99);
  const TaskResult result = run(task());
  EXPECT_EQ(result.error, "scripted: 429 slow down");
  EXPECT_EQ(result.provider_status, 429);
  ASSERT_EQ(result.history.size(), 1u);
  EXPECT_EQ(result.history[0].critique->diagnosis, "bad");
  EXPECT_EQ(result.code, "bad()");
}

}  // namespace
}  // namespace runtime::agent
