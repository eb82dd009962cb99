#include "runtime/agent/roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace runtime::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Role> all_roles() {
  std::vector<Role> roles;
  for (int i = 0; i <= static_cast<int>(Role::optimizer); ++i)
    roles.push_back(static_cast<Role>(i));
  return roles;
}

// Every provider accepts such a strict schema: all properties required, no others.
TEST(Roles, ContractsAreStrictAndPromptsNameTheirFields) {
  std::set<std::string_view> prompts;
  for (const Role role : all_roles()) {
    const llm::AnswerSchema contract = contract_of(role);
    const auto schema = json::parse(contract.schema, contract.name);
    ASSERT_TRUE(schema) << schema.error().message();
    const json::Object& object = *schema->as_object();
    EXPECT_FALSE(*object.at("additionalProperties").as_bool());
    const json::Object& properties = *object.at("properties").as_object();
    EXPECT_EQ(object.at("required").as_array()->size(), properties.size());
    for (const json::Value& name : *object.at("required").as_array()) {
      EXPECT_TRUE(properties.contains(*name.as_string()));
      EXPECT_THAT(std::string(prompt_of(role)), HasSubstr('"' + *name.as_string() + '"'));
    }
    prompts.insert(prompt_of(role));
  }
  EXPECT_EQ(prompts.size(), all_roles().size());
  EXPECT_TRUE(prompt_of(Role::coder).starts_with("You write Python"));
  EXPECT_TRUE(prompt_of(Role::optimizer).starts_with("You improve"));
}

TEST(Roles, ACodersAnswerMayBeAProgramAlone) {
  EXPECT_EQ(read_answer(Role::coder, "Sure:\n```python\nprint(1)\n```\nDone.")->code, "print(1)\n");
  EXPECT_EQ(read_answer(Role::coder, "d = {\"code\": 1}\nprint(d)\n")->code,
            "d = {\"code\": 1}\nprint(d)\n");
  EXPECT_EQ(read_answer(Role::tester, "```\nassert f(1) == 1\n```")->tests, "assert f(1) == 1\n");
  EXPECT_FALSE(read_answer(Role::critic, "```python\nprint(1)\n```"));
  EXPECT_FALSE(read_answer(Role::coder, "I could not find a solution."));
}

TEST(Roles, AProgramMayHaveFencesOfItsOwn) {
  const std::string program = "def f():\n  \"\"\"\n```\nexample\n```\n  \"\"\"\n";
  EXPECT_EQ(read_answer(Role::coder, program)->code, program);
}

TEST(Roles, JsonInFencesAndProse) {
  const auto answer =
      read_answer(Role::coder,
                  "Here you are:\n```json\n{\"code\": \"print(1)\", \"reasoning\": \"r\", "
                  "\"dependencies\": [\"numpy\"]}\n```");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->code, "print(1)");
  EXPECT_THAT(answer->dependencies, ElementsAre("numpy"));
}

TEST(Roles, AFenceWithinTheStringIsTakenOff) {
  const auto answer = read_answer(
      Role::coder, R"({"code": "```python\nprint(1)\n```", "reasoning": "", "dependencies": []})");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->code, "print(1)\n");
}

TEST(Roles, WhatIsWrongIsNamed) {
  const auto missing = read_answer(Role::critic, R"({"diagnosis": "d", "fix": "f"})");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().doing, HasSubstr("should_retry"));
  const auto empty =
      read_answer(Role::coder, R"({"code": " \n", "reasoning": "", "dependencies": []})");
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().doing, HasSubstr("\"code\" is empty"));
  EXPECT_FALSE(
      read_answer(Role::coder, R"({"code": "a\u0000b", "reasoning": "", "dependencies": []})"));
}

TEST(Roles, ConfidenceIsAShare) {
  const auto sure = [](const char* number) {
    const auto answer = read_answer(
        Role::critic, std::string(R"({"diagnosis": "d", "fix": "f", "should_retry": true, )") +
                          "\"confidence\": " + number + "}");
    return answer ? answer->critique.confidence : -1;
  };
  EXPECT_EQ(sure("1"), 1);
  EXPECT_EQ(sure("0.25"), 0.25);
  EXPECT_EQ(sure("95"), 0.95);
  EXPECT_EQ(sure("-3"), 0);
  EXPECT_EQ(sure("4000"), 1);
}

TEST(Roles, AReviewersVote) {
  const auto answer = read_answer(
      Role::security, R"({"approve": false, "confidence": 0.5, "findings": ["eval of input"]})");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_FALSE(answer->approves);
  EXPECT_THAT(answer->findings, ElementsAre("eval of input"));
}

}  // namespace
}  // namespace runtime::agent
