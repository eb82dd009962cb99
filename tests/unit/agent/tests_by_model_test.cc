#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

class TestsByModelTest : public LoopTest {
 protected:
  TestsByModelTest() {
    model_.otherwise[Role::coder] = {.text = coded("def f(): return 42")};
    model_.otherwise[Role::critic] = {.text = criticism("bad", false, 0.9)};
    model_.play(Role::tester, tested("assert f() == 41"));
    model_.play(Role::tester, tested("assert f() == 42"));
  }

  static TaskRequest tested_task() {
    TaskRequest request = task();
    request.tests_by_model = TestsByModel::first;
    request.max_attempts = 6;
    return request;
  }

  void fail_in(const std::string& part, int count) {
    jails_.program = [this, part, count](const RunRequest& request) -> FakeJails::Answer {
      if (static_cast<int>(jails_.requests.size()) > count) return exited(0);
      return exited(1, "", "AssertionError\n" + FakeJails::last_line(request, part));
    };
  }
};

TEST_F(TestsByModelTest, AreWrittenBeforeThereIsCode) {
  const TaskResult result = run(tested_task());
  EXPECT_TRUE(result.success());
  ASSERT_EQ(model_.asked.size(), 2u);
  EXPECT_EQ(model_.asked[0].role, Role::tester);
  EXPECT_THAT(model_.asked[1].user(), HasSubstr("assert f() == 41"));
  EXPECT_THAT(jails_.requests.at(0).code, HasSubstr("def judge("));
  EXPECT_TRUE(jails_.requests[0].standard_input.ends_with("def f(): return 42assert f() == 41"));
  EXPECT_EQ(result.code, "def f(): return 42");
}

TEST_F(TestsByModelTest, WrongOnesAreWrittenAgainOnce) {
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_in("tests", 5);
  const TaskResult result = run(tested_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.attempts, 6u);
  EXPECT_EQ(model_.of(Role::tester).size(), 2u);
  EXPECT_THAT(model_.of(Role::tester).at(1).user(), HasSubstr("assert f() == 41"));
  EXPECT_TRUE(jails_.requests.at(1).standard_input.ends_with("41"));
  EXPECT_TRUE(jails_.requests.at(2).standard_input.ends_with("42"));
  EXPECT_EQ(result.history[0].result->standard_error, "AssertionError\n");
}

TEST_F(TestsByModelTest, DoubtAboutThemIsGivenAChanceBeforeTheCriticEndsIt) {
  model_.play(Role::critic, criticism("bad", true));
  fail_in("tests", 2);
  EXPECT_TRUE(run(tested_task()).success());
  EXPECT_EQ(model_.of(Role::tester).size(), 2u);
}

TEST_F(TestsByModelTest, AreNotDoubtedWhereProgramsFailThemselves) {
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_in("program", 5);
  EXPECT_TRUE(run(tested_task()).success());
  EXPECT_EQ(model_.of(Role::tester).size(), 1u);
}

TEST_F(LoopTest, TestsThatCannotBeWrittenEndTheTask) {
  model_.otherwise[Role::tester] = {.text = "no"};
  TaskRequest request = task();
  request.tests_by_model = TestsByModel::first;
  const TaskResult result = run(std::move(request));
  EXPECT_EQ(result.status, TaskStatus::failed);
  EXPECT_THAT(result.error, HasSubstr("the tester's answer is not what was asked for"));
  EXPECT_TRUE(jails_.requests.empty());
}

TEST_F(TestsByModelTest, ThoseOfTheCallerComeFirstAndAreNotShown) {
  TaskRequest request = tested_task();
  request.tests = "assert secret() == 1";
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  fail_in("tests", 3);
  EXPECT_TRUE(run(std::move(request)).success());
  EXPECT_TRUE(model_.of(Role::tester).empty());  // and they are never doubted
  for (const auto& asked : model_.asked) EXPECT_THAT(asked.user(), Not(HasSubstr("secret()")));
  EXPECT_TRUE(jails_.requests.at(0).standard_input.ends_with("assert secret() == 1"));
}

TEST_F(TestsByModelTest, TheDriversLastLineIsNobodysOutput) {
  fail_in("tests", 1);
  model_.otherwise[Role::critic] = {.text = criticism("bad")};
  run(tested_task());
  const std::string token =
      jails_.requests.at(0).standard_input.substr(0, jails_.requests[0].standard_input.find(' '));
  EXPECT_GE(token.size(), 32u);
  for (const Seen& one : events_) EXPECT_THAT(one.text, Not(HasSubstr(token)));
  EXPECT_NE(token, jails_.requests.at(1).standard_input.substr(0, token.size()));
}

}  // namespace
}  // namespace runtime::agent
