#include "runtime/llm/replay_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <functional>

#include "tests/unit/llm/awaiting.h"

namespace runtime::llm {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<ReplayProvider> cassette(std::string_view text) {
  auto provider = ReplayProvider::parse(text, "tape");
  EXPECT_TRUE(provider.has_value()) << provider.error().message();
  return std::move(*provider);
}

std::string error_of(std::string_view text) {
  const auto provider = ReplayProvider::parse(text, "tape");
  return provider ? "accepted" : provider.error().message();
}

ChatRequest about(std::string prompt, std::string role = {}, std::string schema = {}) {
  ChatRequest request;
  Message message;
  message.text = std::move(prompt);
  request.messages.push_back(std::move(message));
  if (!role.empty()) request.schema = {.name = std::move(role), .schema = std::move(schema)};
  return request;
}

std::string ask(ReplayProvider& provider, ChatRequest request, CallOptions options = {}) {
  boost::asio::io_context context;
  const auto outcome = await_on(context, provider.complete(std::move(request), std::move(options)));
  if (outcome) return outcome->text;
  EXPECT_EQ(outcome.failure().fault, Fault::exhausted);
  return outcome.failure().message;
}

std::string ask_again(ReplayProvider& provider, ChatRequest request, std::size_t asked_before) {
  CallOptions options;
  options.asked_before = asked_before;
  return ask(provider, std::move(request), std::move(options));
}

constexpr std::string_view tape =
    "{\"id\": \"1\", \"task\": \"add one\\n\", \"answers\": [\"a1\", \"a2\"], \"kind\": \"x\"}\n"
    "\n"
    "{\"task\": \"add one hundred\", \"answers\": [\"b1\", {\"code\": \"b2\"}],"
    " \"roles\": {\"critic\": [{\"fix\": \"f\"}]}}\n"
    "{\"task\": \"add one\", \"answers\": [\"a3\"]}\n";

TEST(ReplayProvider, PlaysTheAnswersOfATaskInTurn) {
  const auto provider = cassette(tape);
  EXPECT_EQ(ask(*provider, about("Please add\n   one.")), "a1");
  EXPECT_EQ(ask(*provider, about("Task: add one hundred")), "b1");
  EXPECT_EQ(ask_again(*provider, about("add one"), 1), "a2");
  EXPECT_EQ(ask_again(*provider, about("add one"), 2), "a3");
  EXPECT_EQ(ask_again(*provider, about("add one hundred"), 1), R"({"code":"b2"})");
  EXPECT_THAT(ask_again(*provider, about("add one"), 3), HasSubstr("3 answers for \"add one"));
}

TEST(ReplayProvider, EachTaskStartsOver) {
  const auto provider = cassette(tape);
  for (int task = 0; task < 3; ++task) {
    EXPECT_EQ(ask(*provider, about("add one")), "a1");
    EXPECT_EQ(ask_again(*provider, about("add one"), 1), "a2");
  }
}

TEST(ReplayProvider, ATaskIsFoundByWholeWords) {
  const auto provider = cassette(tape);
  EXPECT_THAT(ask(*provider, about("add ones, or readd one1")), HasSubstr("no task"));
  EXPECT_EQ(ask(*provider, about("(add one)")), "a1");
}

TEST(ReplayProvider, TheFirstTaskInAPromptIsTheOneItIsAbout) {
  const auto provider = cassette(tape);
  EXPECT_EQ(ask(*provider, about("add one\nA similar task: add one hundred")), "a1");
}

TEST(ReplayProvider, ATaskThatIsNamedIsTheOnlyOneThatCounts) {
  const auto provider = cassette(tape);
  CallOptions options;
  options.task = "please add  one";
  EXPECT_EQ(ask(*provider, about("add one hundred"), options), "a1");
  options.task = "add two";
  EXPECT_THAT(ask(*provider, about("add two\nA similar task: add one"), options),
              HasSubstr("no task"));
}

TEST(ReplayProvider, OthersThanTheCoderHaveAnswersOfTheirOwn) {
  const auto provider = cassette(tape);
  EXPECT_EQ(ask(*provider, about("add one hundred", "critic", "{}")), R"({"fix":"f"})");
  EXPECT_THAT(ask_again(*provider, about("add one hundred", "critic", "{}"), 1),
              HasSubstr("\"critic\""));
  EXPECT_THAT(ask(*provider, about("add one", "architect", "{}")), HasSubstr("has no answers"));
  EXPECT_EQ(ask(*provider, about("add one", "coder", "{}")), "a1");
}

TEST(ReplayProvider, ACriticOfWhomNothingIsRecordedAsksForTheNextProgram) {
  const auto provider = cassette(tape);
  for (int time = 0; time < 2; ++time) {
    EXPECT_THAT(ask(*provider, about("add one", "critic", "{}")),
                HasSubstr("\"should_retry\": true"));
  }
  EXPECT_EQ(ask(*provider, about("add one")), "a1");
}

TEST(ReplayProvider, AProgramIsPutIntoTheObjectThatIsWanted) {
  const auto provider = cassette(tape);
  constexpr const char* schema =
      R"({"properties": {"code": {"type": "string"}, "n": {"type": "number"},
          "list": {"type": "array"}, "why": {"type": "string"}}})";
  EXPECT_EQ(ask(*provider, about("add one", "coder", schema)),
            R"({"code":"a1","list":[],"n":0,"why":""})");
  EXPECT_EQ(ask(*provider, about("add one hundred", "coder", schema)),
            R"({"code":"b1","list":[],"n":0,"why":""})");
  EXPECT_EQ(ask_again(*provider, about("add one hundred", "coder", schema), 1), R"({"code":"b2"})");
}

TEST(ReplayProvider, StreamsWhatItSays) {
  std::string long_text(1'000, 'x');
  const auto provider = cassette("{\"task\": \"t\", \"answers\": [\"" + long_text + "\xc3\xa9\"]}");
  std::string streamed;
  int pieces = 0;
  CallOptions options;
  options.on_text = [&](std::string_view piece) {
    streamed += piece;
    ++pieces;
  };
  const std::string text = ask(*provider, about("t"), std::move(options));
  EXPECT_EQ(streamed, text);
  EXPECT_GT(pieces, 5);
}

TEST(ReplayProvider, ABadCassetteIsNamedWithItsLine) {
  EXPECT_THAT(error_of("{\"task\": \"t\", \"answers\": []}\n{"), HasSubstr("tape, line 2"));
  EXPECT_THAT(error_of("{\"answers\": []}"), HasSubstr("\"task\""));
  EXPECT_THAT(error_of("{\"task\": \"t\"}"), HasSubstr("\"answers\""));
  EXPECT_THAT(error_of("{\"task\": \"t\", \"answers\": [1]}"), HasSubstr("\"answers\""));
  EXPECT_THAT(error_of("\n"), HasSubstr("no record"));
  EXPECT_FALSE(ReplayProvider::open("/nonexistent/tape").has_value());
}

}  // namespace
}  // namespace runtime::llm
