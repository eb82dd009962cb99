#include "runtime/llm/failure_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace runtime::llm {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

Endpoint groq() {
  Endpoint endpoint;
  endpoint.provider = "groq";
  endpoint.base_url = "https://user:pass@proxy.example/openai/v1";
  endpoint.api_key = Secret("gsk_ABCDEFGHIJKLMNOP1234");
  endpoint.model = "llama";
  return endpoint;
}

CallStory story(std::uint32_t tries = 1) {
  return {.model = "llama", .tries = tries, .deadline = milliseconds(2'500)};
}

ProviderFault fault(int status, std::string text) {
  return {.fault = fault_of_status(status),
          .status = status,
          .text = std::move(text),
          .code = {},
          .wait = {}};
}

std::string message(int status, std::string text, std::uint32_t tries = 1) {
  return failure_of(groq(), story(tries), fault(status, std::move(text)), std::nullopt).message;
}

TEST(FailureText, SaysWhoWhatAndWhatToDo) {
  EXPECT_EQ(message(401, "Invalid API Key."), "groq: 401 Invalid API Key; check GROQ_API_KEY");
  EXPECT_EQ(message(404, "no such model"),
            "groq: 404 no such model; model \"llama\": set GROQ_MODEL to one that there is");
  EXPECT_EQ(message(402, ""),
            "groq: 402 payment required; the account of GROQ_API_KEY needs credit");
  EXPECT_EQ(message(500, "oops", 3),
            "groq: 500 oops; tried 3 times; the fault is the provider's, try again later");
  EXPECT_THAT(message(302, "moved"), HasSubstr("check GROQ_BASE_URL"));
  const Failure limited =
      failure_of(groq(), story(3), fault(429, "Slow down"), milliseconds(7'500));
  EXPECT_EQ(limited.message, "groq: 429 Slow down; tried 3 times; try again in 7.5 s");
  EXPECT_EQ(limited.retry_after, milliseconds(7'500));
  EXPECT_EQ(limited.tries, 3u);
}

TEST(FailureText, WhoCannotBeReachedIsNamedWithItsVariable) {
  const HttpFault refused{.kind = HttpFault::unreachable,
                          .text = "https://proxy.example: connection refused",
                          .status = 0,
                          .body_began = false};
  const Failure failure = failure_of(groq(), story(), refused);
  EXPECT_EQ(failure.fault, Fault::unavailable);
  EXPECT_EQ(failure.message,
            "groq: could not be reached at https://proxy.example/openai/v1 (GROQ_BASE_URL): "
            "connection refused");
}

TEST(FailureText, SecretsOfAUrlAreNotShown) {
  EXPECT_EQ(shown_url("https://me:secret@h:1/v1"), "https://h:1/v1");
  EXPECT_EQ(shown_url("https://h/v1?key=secret#more"), "https://h/v1");
  EXPECT_EQ(shown_url("https://h?key=secret@x"), "https://h");
}

TEST(FailureText, NoKeyIsRepeated) {
  for (const char* text : {"Incorrect API key provided: gsk_ABCDEFGHIJKLMNOP1234.",
                           "key=gsk_ABCDEFGHIJKLMNOP1234x", "you sent gsk_ABCDEFGHI****1234",
                           "...IJKLMNOP1234 is unknown", "Bearer\ngsk_ABCDEFGHIJKLMNOP1234"}) {
    const std::string shown = message(401, text);
    EXPECT_THAT(shown, Not(HasSubstr("ABCDEFGHI"))) << shown;
    EXPECT_THAT(shown, Not(HasSubstr("IJKLMNOP"))) << shown;
    EXPECT_THAT(shown, HasSubstr("[redacted]")) << shown;
  }
  // The same holds at the place where the text is cut.
  const std::string cut = message(401, std::string(285, 'x') + " gsk_ABCDEFGHIJKLMNOP1234");
  EXPECT_THAT(cut, Not(HasSubstr("gsk_ABCD")));
}

TEST(FailureText, AShortKeyIsOneOnlyWhereItStandsAlone) {
  EXPECT_EQ(redacted("the key test is not tested", Secret("test")),
            "the key [redacted] is not tested");
  EXPECT_EQ(redacted("anything", Secret("")), "anything");
}

TEST(FailureText, ForeignWordsAreOneBoundedLine) {
  EXPECT_EQ(foreign_text("a\r\nb\x1b[31m\tc \x7f", Secret()), "a b [31m c");
  EXPECT_EQ(foreign_text("a\u009b31m \u0085caf\u00e9", Secret()), "a 31m caf\u00e9");
  EXPECT_LE(foreign_text(std::string(5'000, 'x'), Secret()).size(), 300u);
  std::string wide;
  for (int i = 0; i < 300; ++i) wide += "\xc3\xa9";
  const std::string cut = foreign_text(wide, Secret());
  EXPECT_LE(cut.size(), 300u);
  EXPECT_THAT(cut, HasSubstr("\xc3\xa9..."));
}

TEST(FailureText, TimesAreTold) {
  const HttpFault late{
      .kind = HttpFault::timed_out, .text = "x: y", .status = 0, .body_began = false};
  EXPECT_EQ(failure_of(groq(), story(), late).message, "groq: no answer within 2.5 s");
  EXPECT_EQ(failure_of(groq(), story(), late).fault, Fault::timed_out);
}

}  // namespace
}  // namespace runtime::llm
