#include "server/cli/progress_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace server {
namespace {

using runtime::agent::Event;
using runtime::agent::EventType;
using ::testing::HasSubstr;
using ::testing::Not;

const Event code{EventType::code,
                 R"({"attempt":1,"candidate":0,"code":"print(1)\n","reasoning":"why\u001b[2J"})"};
const Event failed{
    EventType::execution_result,
    R"({"attempt":1,"candidate":1,"status":"error","exit_code":1,"signal":null,"execution_time_ms":12.4,
                       "stderr":"Traceback\nValueError: bad \u001b]0;x\u0007\n"})"};

TEST(ProgressText, AnAttempt) {
  ProgressText words({});
  const auto generating = words.of({EventType::generating, R"({"attempt":1,"role":"coder"})"});
  EXPECT_EQ(generating.text, "attempt 1 of 3\n");
  EXPECT_THAT(generating.doing, HasSubstr("coder"));
  EXPECT_EQ(words.of(code).text, "  print(1)\n");
  const auto result = words.of(failed);
  EXPECT_THAT(result.text, HasSubstr("error, exit status 1 (candidate 2), 12 ms: ValueError: bad"));
  const auto critique =
      words.of({EventType::critique, R"({"attempt":1,"diagnosis":"off by one","fix":"add one"})"});
  EXPECT_THAT(critique.text, HasSubstr("off by one"));
  EXPECT_THAT(critique.text, Not(HasSubstr("add one")));
  EXPECT_EQ(words.of({EventType::generating, R"({"attempt":2,"role":"coder"})"}).text,
            "attempt 2 of 3\n");
}

TEST(ProgressText, WhatATestSaidIsShown) {
  const auto shown_for = [](const std::string& standard_error) {
    return ProgressText({})
        .of({EventType::execution_result,
             R"({"attempt":1,"candidate":0,"status":"error","exit_code":1,"stderr":")" +
                 standard_error + "\"}"})
        .text;
  };
  const std::string failed_tests = "The program ran to its end; its tests failed.\\n";
  EXPECT_THAT(shown_for("Traceback:\\n    assert f(2) == 4\\n           ^^^^\\nAssertionError\\n" +
                        failed_tests),
              HasSubstr("exit status 1: its tests failed: AssertionError: assert f(2) == 4\n"));
  EXPECT_THAT(shown_for("AssertionError: not four\\n" + failed_tests),
              HasSubstr(": its tests failed: AssertionError: not four\n"));
  EXPECT_THAT(shown_for("NameError: f\\nThe program failed before its tests.\\n"),
              HasSubstr("exit status 1: NameError: f\n"));
  EXPECT_THAT(shown_for(failed_tests), HasSubstr("exit status 1: its tests failed\n"));
}

TEST(ProgressText, MoreForWhoWantsIt) {
  ProgressStyle style;
  style.detail = RunTaskOptions::Detail::all;
  ProgressText all(style);
  EXPECT_THAT(all.of(code).text, HasSubstr("# why"));
  EXPECT_EQ(all.of({EventType::standard_output, R"("a\nb")"}).text, "  | a\n  | b\n");
  ProgressText usual({});
  EXPECT_THAT(usual.of(code).text, Not(HasSubstr("why")));
  EXPECT_EQ(usual.of({EventType::standard_output, R"("a\nb")"}).text, "");
  EXPECT_EQ(all.of({EventType::token, R"("a")"}).text, "");
}

TEST(ProgressText, NothingThatATerminalObeysPasses) {
  for (const auto detail : {RunTaskOptions::Detail::usual, RunTaskOptions::Detail::all}) {
    ProgressStyle style;
    style.detail = detail;
    ProgressText words(style);
    const std::string nasty = R"("\u001b[2J\u009b2J\r\u202e")";
    std::string shown;
    for (const auto type :
         {EventType::generating, EventType::code, EventType::executing, EventType::execution_result,
          EventType::critiquing, EventType::critique, EventType::retrying, EventType::swarm,
          EventType::standard_output, EventType::standard_error, EventType::token}) {
      std::string data = "{\"attempt\":1,\"candidate\":1";
      for (const char* name : {"role", "code", "reasoning", "status", "signal", "stderr",
                               "diagnosis", "fix", "plan"}) {
        data += std::string(",\"") + name + "\":" + nasty;
      }
      for (const std::string& value : {data + "}", nasty}) {
        const auto step = words.of({type, value});
        shown += step.text + step.doing;
      }
    }
    runtime::agent::TaskResult result;
    result.error = "\x1b[2J";
    shown += words.end_of(result);
    for (const char c : shown) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    EXPECT_THAT(shown, Not(HasSubstr("\xC2\x9B")));
    EXPECT_THAT(shown, Not(HasSubstr("\xE2\x80\xAE")));
  }
}

TEST(ProgressText, ColoursOnlyWhereTheyAreWanted) {
  ProgressStyle style;
  style.colours = Colours::ansi;
  EXPECT_THAT(ProgressText(style).of(failed).text, HasSubstr("\x1b[31m"));
  EXPECT_THAT(ProgressText({}).of(failed).text, Not(HasSubstr("\x1b")));
}

TEST(ProgressText, BrokenEventsSayNothing) {
  ProgressText words({});
  for (const char* data : {"", "{", "[]", "1", "null"}) {
    EXPECT_EQ(words.of({EventType::code, data}).text, "") << data;
  }
}

TEST(ProgressText, TheNameOfAProviderIsPlain) {
  runtime::agent::TaskResult result;
  result.usage["\x1b]0;x\x07" + std::string(100, 'a')] = {.input_tokens = 1, .output_tokens = 2};
  const std::string end = ProgressText({}).end_of(result);
  EXPECT_EQ(end.find('\x1b'), end.npos);
  EXPECT_LT(end.size(), 150u);
}

TEST(ProgressText, TheEnd) {
  runtime::agent::TaskResult result;
  result.attempts = 2;
  result.usage["groq"] = {.input_tokens = 12, .output_tokens = 3};
  result.execution_time = std::chrono::milliseconds(1234);
  result.error = "attempts used up";
  EXPECT_EQ(ProgressText({}).end_of(result),
            "not solved (2 attempts, 1.23 s; groq: 12 tokens in, 3 out)\nattempts used up\n");
  result.status = runtime::agent::TaskStatus::completed;
  result.error.clear();
  EXPECT_THAT(ProgressText({}).end_of(result), HasSubstr("solved (2 attempts"));
  result.status = runtime::agent::TaskStatus::cancelled;
  EXPECT_THAT(ProgressText({}).end_of(result), HasSubstr("cancelled"));
}

}  // namespace
}  // namespace server
