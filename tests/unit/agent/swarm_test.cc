#include "runtime/agent/swarm.h"

#include "tests/unit/agent/loop_fixture.h"

namespace runtime::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string vote(bool approves, double confidence, const std::string& finding = "") {
  json::Writer writer;
  writer.begin_object().key("approve").boolean(approves).key("confidence").number(confidence);
  writer.key("findings").begin_array();
  if (!finding.empty()) writer.string(finding);
  writer.end_array().end_object();
  return std::move(writer).take();
}

std::string optimized(bool approves, double confidence, const std::string& code) {
  std::string text = vote(approves, confidence);
  text.pop_back();
  return text + R"(, "code": )" + json::quoted(code, code.size()) + '}';
}

class SwarmTest : public LoopTest {
 protected:
  SwarmTest() { model_.play(Role::architect, R"({"plan": "one loop", "pitfalls": ["overflow"]})"); }

  static TaskRequest swarm_task() {
    TaskRequest request = task();
    request.team = Team::swarm;
    return request;
  }

  std::vector<std::string> said() const {
    std::vector<std::string> roles;
    for (const Seen& one : events_) {
      if (one.type != "swarm") continue;
      const json::Object& object = *one.value.as_object();
      roles.push_back(*object.at("role").as_string() +
                      std::to_string(*object.at("round").as_integer()));
    }
    return roles;
  }
};

TEST_F(SwarmTest, AgreesInTheFirstRound) {
  model_.play(Role::coder, coded("print(42)"));
  model_.play(Role::reviewer, vote(true, 0.9));
  model_.play(Role::security, vote(true, 0.8));
  model_.play(Role::optimizer, optimized(true, 0.7, ""));
  const TaskResult result = run(swarm_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.code, "print(42)");
  EXPECT_THAT(said(),
              ElementsAre("architect1", "coder1", "critic1", "security1", "optimizer1", "votes1"));
  EXPECT_EQ(model_.max_at_once, 2);  // critic and security
  ASSERT_EQ(result.history.size(), 1u);
  EXPECT_EQ(result.history[0].votes.size(), 3u);
  EXPECT_EQ(result.history[0].usage.input_tokens, 500u);
  EXPECT_EQ(jails_.requests.size(), 1u);
  const std::string coder = model_.of(Role::coder).at(0).user();
  EXPECT_THAT(coder, HasSubstr("one loop"));
  EXPECT_THAT(coder, HasSubstr("overflow"));
  EXPECT_THAT(model_.of(Role::security).at(0).user(), HasSubstr("print(42)"));
}

TEST_F(SwarmTest, FindingsGoBackToTheCoder) {
  model_.play(Role::coder, coded("eval(input())"));
  model_.play(Role::coder, coded("print(42)"));
  model_.play(Role::reviewer, vote(true, 0.5));
  model_.play(Role::reviewer, vote(true, 0.9));
  model_.play(Role::security, vote(false, 0.9, "eval of input"));
  model_.play(Role::security, vote(true, 0.9));
  model_.play(Role::optimizer, optimized(true, 0.5, ""));
  model_.play(Role::optimizer, optimized(true, 0.5, ""));
  const TaskResult result = run(swarm_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.code, "print(42)");
  EXPECT_EQ(result.attempts, 1u);
  const std::string second = model_.of(Role::coder).at(1).user();
  EXPECT_THAT(second, HasSubstr("eval of input"));
  EXPECT_THAT(second, HasSubstr("eval(input())"));
  EXPECT_THAT(model_.of(Role::reviewer).at(1).user(), Not(HasSubstr("eval of input")));
  EXPECT_EQ(model_.of(Role::architect).size(), 1u);
  EXPECT_TRUE(result.history[0].votes.at(1).approves);  // those of the last round
}

TEST_F(SwarmTest, WithoutConsensusItRunsAfterTwoRounds) {
  model_.otherwise[Role::coder] = {.text = coded("print(42)")};
  model_.otherwise[Role::reviewer] = {.text = vote(false, 0.9, "wrong")};
  model_.otherwise[Role::security] = {.text = vote(true, 0.9)};
  model_.otherwise[Role::optimizer] = {.text = optimized(true, 0.9, "print(6 * 7)")};
  const TaskResult result = run(swarm_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.code, "print(6 * 7)");
  EXPECT_EQ(model_.of(Role::coder).size(), 2u);
  EXPECT_THAT(events_[events_.size() - 4].text, HasSubstr("run without consensus"));
}

TEST_F(SwarmTest, AFailedProgramGoesOnWithTheCritique) {
  model_.otherwise[Role::coder] = {.text = coded("print(42)")};
  model_.otherwise[Role::reviewer] = {.text = vote(true, 1)};
  model_.otherwise[Role::security] = {.text = vote(true, 1)};
  model_.otherwise[Role::optimizer] = {.text = optimized(true, 1, "")};
  model_.play(Role::critic, criticism("nobody saw this"));
  fail_first(1);
  const TaskResult result = run(swarm_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.attempts, 2u);
  EXPECT_EQ(result.history[0].critique->diagnosis, "nobody saw this");
  EXPECT_THAT(model_.of(Role::coder).at(1).user(), HasSubstr("nobody saw this"));
  EXPECT_EQ(model_.of(Role::architect).size(), 1u);  // one plan in a task
}

TEST_F(SwarmTest, AMemberOfNoUseAbstains) {
  model_.play(Role::coder, coded("print(42)"));
  model_.otherwise[Role::reviewer] = {.text = "hm"};
  model_.play(Role::security, vote(true, 0.9));
  model_.otherwise[Role::optimizer] = {.text = "hm"};
  const TaskResult result = run(swarm_task());
  EXPECT_TRUE(result.success());
  EXPECT_EQ(result.history[0].votes.size(), 1u);
}

TEST(Approval, IsWeightedByConfidence) {
  const auto of = [](std::initializer_list<std::pair<bool, double>> given) {
    std::vector<Vote> votes;
    for (const auto& [approves, confidence] : given) {
      Vote one;
      one.approves = approves;
      one.confidence = confidence;
      votes.push_back(one);
    }
    return approval_of(votes);
  };
  EXPECT_DOUBLE_EQ(of({{true, 0.7}, {false, 0.3}}), 0.7);
  EXPECT_GE(of({{true, 0.7}, {false, 0.3}}), consensus_from);
  EXPECT_LT(of({{true, 0.6}, {false, 0.3}}), consensus_from);
  EXPECT_EQ(of({{true, 0}}), 0);
  EXPECT_EQ(of({}), 0);
}

}  // namespace
}  // namespace runtime::agent
