#include "server/cli/sandbox/known_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server::client {
namespace {

using ::testing::ElementsAre;
using Kind = KnownNamesOptions::Kind;

std::vector<std::string> names_of(Kind kind, std::string_view answer) {
  const auto value = runtime::json::parse(answer, "test");
  if (!value) ADD_FAILURE() << value.error().message();
  return value ? names_in(*value, {.kind = kind}) : std::vector<std::string>();
}

TEST(KnownNames, ASandboxHasItsNameAndItsId) {
  EXPECT_THAT(names_of(Kind::sandboxes,
                       R"({"sandboxes":[{"id":"abc","name":"box"},{"id":"def","name":null}]})"),
              ElementsAre("box", "abc", "def"));
}

TEST(KnownNames, AVolumeHasItsName) {
  EXPECT_THAT(names_of(Kind::volumes, R"({"volumes":[{"id":"abc","name":"data"}]})"),
              ElementsAre("data"));
}

TEST(KnownNames, AWebhookHasItsId) {
  EXPECT_THAT(names_of(Kind::webhooks, R"({"webhooks":[{"id":"abc","name":"data"}]})"),
              ElementsAre("abc"));
}

TEST(KnownNames, WhatIsNoNameIsLeftOut) {
  const std::string odd =
      R"x({"templates":[{"name":"-rf"},{"name":"$(id)"},{"name":"a b"},{"name":"a\u001b[31m"},)x"
      R"x({"name":"\u202e"},{"name":"a\nb"},{"name":""},{"name":"a/b"},{"name":"grün"},)x"
      R"x({"name":1},{},"x",{"name":"data.science_2-a"}]})x";
  EXPECT_THAT(names_of(Kind::templates, odd), ElementsAre("data.science_2-a"));
  const std::string jobs =
      R"({"jobs":[{"job_id":"box"},{"job_id":"dfdd3ca9-5509-4bcf-9921-5ae6154aac65"}]})";
  EXPECT_THAT(names_of(Kind::jobs, jobs), ElementsAre("dfdd3ca9-5509-4bcf-9921-5ae6154aac65"));
}

TEST(KnownNames, AnotherAnswerHasNone) {
  for (const char* const answer : {"{}", "[]", "1", R"({"sandboxes":{}})"}) {
    EXPECT_THAT(names_of(Kind::sandboxes, answer), ElementsAre());
  }
}

TEST(KnownNames, TheSubcommandIsWhatCompletionsAsk) {
  ASSERT_TRUE(known_names_of({"complete", "jobs"}));
  EXPECT_EQ(known_names_of({"complete", "jobs"})->kind, Kind::jobs);
  EXPECT_FALSE(known_names_of({"complete"}));
  EXPECT_FALSE(known_names_of({"complete", "files"}));
  EXPECT_FALSE(known_names_of({"exec", "jobs"}));
}

}  // namespace
}  // namespace server::client
