#include "runtime/llm/answer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

using ::testing::HasSubstr;

std::string read(std::string_view text) {
  const auto value = answer_json(text);
  return value ? text_of(*value) : "error: " + value.error().doing;
}

TEST(AnswerJson, TakesABareObject) { EXPECT_EQ(read(R"( {"a": 1} )"), R"({"a":1})"); }

TEST(AnswerJson, TakesOneOutOfFencesAndProse) {
  EXPECT_EQ(read("Here it is:\n```json\n{\"a\": [1, 2]}\n```\nHave fun!"), R"({"a":[1,2]})");
  EXPECT_EQ(read("The set {x} has {\"a\": \"b\"} in it."), R"({"a":"b"})");
}

TEST(AnswerJson, FencesWithinStringsAreText) {
  EXPECT_EQ(read("```json\n{\"code\": \"```py\\nx\\n```\"}\n```"), R"({"code":"```py\nx\n```"})");
}

TEST(AnswerJson, TheLongestCountsAndOfEqualsTheLast) {
  EXPECT_EQ(read(R"(For example {"a": 1}, so: {"a": 22, "b": 3}. As {"c": 4} says.)"),
            R"({"a":22,"b":3})");
  EXPECT_EQ(read(R"({"a": 1} or rather {"a": 2})"), R"({"a":2})");
}

TEST(AnswerJson, ThoughtsAreNoAnswer) {
  EXPECT_EQ(read(R"(<think>maybe {"a": "a long draft"}</think>{"a": 1})"), R"({"a":1})");
}

TEST(AnswerJson, MendsWhatCanBeMeantInOneWay) {
  EXPECT_EQ(read(R"({"a": [1, 2, ], "b": {"c": 1,}, })"), R"({"a":[1,2],"b":{"c":1}})");
  EXPECT_EQ(read("{\"code\": \"a\n\tb\"}"), R"({"code":"a\n\tb"})");
  EXPECT_EQ(read(R"({"a": True, "b": False, "c": None})"), R"({"a":true,"b":false,"c":null})");
  EXPECT_EQ(read(R"({"pattern": "\d+", "it": "\'s"})"), R"({"it":"'s","pattern":"\\d+"})");
}

TEST(AnswerJson, ClosesWhatMissesOnlyItsEnd) {
  EXPECT_EQ(read(R"({"a": [1, {"b": "c")"), R"({"a":[1,{"b":"c"}]})");
  EXPECT_EQ(read(R"({"a": "b", )"), R"({"a":"b"})");
  EXPECT_EQ(read("```json\n{\"a\": 0.5\n```"), R"({"a":0.5})");
}

TEST(AnswerJson, DoesNotGuessWhatWasCut) {
  for (const char* text :
       {R"x({"code": "print(1)", "reasoning": "beca)x", R"({"a": 0.)", R"({"a": 1)", R"({"a": tru)",
        R"({"a": )", R"({"a": 1, "b)", "{\"a\": \"\\"}) {
    EXPECT_THAT(read(text), HasSubstr("stops before its end")) << text;
  }
}

TEST(AnswerJson, APartOfABrokenObjectIsNotTheAnswer) {
  EXPECT_THAT(read(R"({"items": [{"code": "x"}, {"code": "y)"), HasSubstr("stops before its end"));
  EXPECT_THAT(read(R"({"a": "b" "c": {"d": 1}})"), HasSubstr("not valid JSON"));
}

TEST(AnswerJson, SaysThatThereIsNone) {
  EXPECT_THAT(read("I am sorry."), HasSubstr("no JSON object"));
  EXPECT_THAT(read(""), HasSubstr("no JSON object"));
  EXPECT_THAT(read("[1, 2]"), HasSubstr("no JSON object"));
  EXPECT_THAT(read(R"({"a": 1, "a": 2})"), HasSubstr("duplicate key"));
}

TEST(AnswerJson, SurvivesWhatIsMeantToHurt) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(read(deep), HasSubstr("error"));
  EXPECT_THAT(read(std::string(100'000, '{')), HasSubstr("error"));
  EXPECT_THAT(read(std::string(100'000, '[')), HasSubstr("error"));
}

}  // namespace
}  // namespace runtime::llm
