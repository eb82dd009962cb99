#include "runtime/agent/candidates.h"

#include <set>

#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CandidatesTest : public LoopTest {
 protected:
  static TaskRequest with(std::uint32_t candidates) {
    TaskRequest request = task();
    request.candidates = candidates;
    return request;
  }

  // Sets the result of each program, by the number in it.
  void programs(std::vector<RunResult> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      model_.play(Role::coder, coded("print(" + std::to_string(i) + ")"));
    }
    jails_.program = [results](const RunRequest& request) -> FakeJails::Answer {
      return results.at(static_cast<std::size_t>(request.code.at(6) - '0'));
    };
  }

  static RunResult slow(RunResult result, int microseconds) {
    result.timings.ran = std::chrono::microseconds(microseconds);
    return result;
  }
};

TEST_F(CandidatesTest, AreWrittenAndRunAtOnceWithDifferentBiases) {
  programs(std::vector<RunResult>(4, exited(0)));
  EXPECT_TRUE(run(with(4)).success());
  EXPECT_EQ(model_.max_at_once, 4);
  EXPECT_EQ(jails_.max_at_once, 4);
  std::set<double> temperatures;
  std::set<std::string> wanted;
  for (const auto& asked : model_.of(Role::coder)) {
    temperatures.insert(*asked.request.temperature);
    wanted.insert(asked.user());
  }
  EXPECT_EQ(temperatures.size(), 4u);
  EXPECT_EQ(*temperatures.begin(), 0.0);
  EXPECT_EQ(wanted.size(), 4u);
}

TEST_F(CandidatesTest, TheFastestThatPassesIsChosenAndVerified) {
  programs({slow(exited(1), 1), slow(exited(0, "slow"), 900), slow(exited(0, "fast"), 200)});
  const TaskResult result = run(with(3));
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.code, "print(2)");
  EXPECT_EQ(result.output, "fast");
  EXPECT_EQ(result.history.size(), 3u);
  EXPECT_EQ(result.attempts, 1u);  // number of rounds
  ASSERT_EQ(jails_.requests.size(), 4u);
  EXPECT_EQ(jails_.requests[3].code, "print(2)");
  EXPECT_THAT(reports_, ElementsAre(0, 1, 2, 2));  // and the one that was verified
  EXPECT_EQ(reported_[2].candidate, 2u);
}

TEST_F(CandidatesTest, OneThatPassesByLuckIsNotChosen) {
  programs({slow(exited(0, "lucky"), 1), slow(exited(0, "sound"), 9)});
  const auto usual = jails_.program;
  jails_.program = [this, usual](const RunRequest& request) -> FakeJails::Answer {
    return jails_.requests.size() == 3 ? exited(1) : usual(request);
  };
  const TaskResult result = run(with(2));
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.output, "sound");
  EXPECT_EQ(result.history[0].result->status, Status::error);  // the outcome of its verification
  EXPECT_EQ(reported_[0].result->status, Status::error);
  EXPECT_EQ(jails_.requests.size(), 4u);
}

TEST_F(CandidatesTest, OnlyTheOneThatWasVerifiedHasSolvedIt) {
  programs({slow(exited(0), 1), slow(exited(0), 9), exited(1)});
  const TaskResult result = run(with(3));
  EXPECT_TRUE(result.success());
  EXPECT_TRUE(result.history[0].solved());
  EXPECT_FALSE(result.history[1].solved());
  EXPECT_FALSE(result.history[2].solved());
  EXPECT_TRUE(reported_[0].solved());
}

TEST_F(CandidatesTest, WhereVerifyingCannotBeStartedNothingIsSolved) {
  programs({exited(0), exited(0)});
  const auto usual = jails_.program;
  jails_.program = [this, usual](const RunRequest& request) -> FakeJails::Answer {
    if (jails_.requests.size() < 3) return usual(request);
    return jail::Error{jail::ErrorKind::refused, "make a user namespace", 0, {}};
  };
  const TaskResult result = run(with(2));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_EQ(result.history[0].result->status, Status::success);
  EXPECT_FALSE(result.history[0].solved());
  EXPECT_FALSE(result.history[1].solved());
}

TEST_F(CandidatesTest, WhatWasVerifiedStaysSoThoughTheTaskIsOver) {
  programs({exited(0), exited(1)});
  const auto usual = jails_.program;
  jails_.program = [this, usual](const RunRequest& request) -> FakeJails::Answer {
    if (jails_.requests.size() == 3) cancel_.request();
    return usual(request);
  };
  EXPECT_TRUE(run(with(2)).success());
}

TEST_F(CandidatesTest, WhereAllFailTheBestIsCritiqued) {
  RunResult killed;
  killed.status = Status::timeout;
  programs({killed, exited(1, "", "nearly"), exited(0)});
  model_.play(Role::coder, coded("print(2)"));
  model_.play(Role::critic, criticism("nearly right"));
  const TaskResult result = run(with(2));
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.attempts, 2u);
  ASSERT_EQ(result.history.size(), 4u);
  EXPECT_FALSE(result.history[0].critique.has_value());
  EXPECT_EQ(result.history[1].critique->diagnosis, "nearly right");
  EXPECT_THAT(model_.of(Role::critic).at(0).user(), HasSubstr("candidate 2 of attempt 1"));
  EXPECT_EQ(model_.of(Role::critic).size(), 1u);
}

TEST_F(CandidatesTest, MaxAttemptsBoundsRounds) {
  model_.otherwise[Role::coder] = {.text = coded("bad()")};
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_first(99);
  const TaskResult result = run(with(3));
  EXPECT_EQ(result.attempts, 3u);
  EXPECT_EQ(jails_.requests.size(), 9u);
  EXPECT_EQ(result.history.size(), 9u);
}

TEST_F(CandidatesTest, OneCallThatFailsEndsNothingWhileOthersAnswer) {
  model_.play(Role::coder, {.failure = ScriptedProvider::failure(llm::Fault::unavailable, 503,
                                                                 "scripted: 503")});
  model_.play(Role::coder, coded("print(42)"));
  const TaskResult result = run(with(2));
  EXPECT_TRUE(result.success());
  ASSERT_EQ(result.history.size(), 1u);
  EXPECT_EQ(result.history[0].candidate, 1u);
}

TEST_F(CandidatesTest, WhereAllCallsFailTheTaskDoes) {
  const auto failure = ScriptedProvider::failure(llm::Fault::unavailable, 503, "scripted: 503");
  model_.otherwise[Role::coder] = {.failure = failure};
  const TaskResult result = run(with(4));
  EXPECT_EQ(result.error, "scripted: 503");
  EXPECT_EQ(result.provider_status, 503);
}

TEST_F(CandidatesTest, WhatTheyPrintIsNotMixed) {
  programs({exited(0, "one"), exited(0, "two")});
  run(with(2));
  EXPECT_THAT(event_types(), Not(testing::Contains("stdout")));
  EXPECT_THAT(event_types(), Not(testing::Contains("token")));
}

TEST(Candidates, RankedByTheEndThenTheTime) {
  std::vector<Attempt> history(5);
  RunResult killed;
  killed.status = Status::killed;
  history[0].result = exited(1);
  history[1].result = killed;
  history[2].result = exited(0);
  history[2].result->timings.ran = std::chrono::microseconds(5);
  history[3].result = exited(0);
  EXPECT_THAT(ranked(history, 0), ElementsAre(3, 2, 0, 1));  // the last one was not run
  EXPECT_THAT(ranked(history, 3), ElementsAre(3));
}

}  // namespace
}  // namespace runtime::agent
