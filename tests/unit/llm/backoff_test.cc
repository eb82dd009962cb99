#include "runtime/llm/backoff.h"

#include <gtest/gtest.h>

namespace runtime::llm {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;
using namespace std::chrono_literals;

// Sun, 06 Nov 1994 08:49:37 GMT
const system_clock::time_point example = system_clock::from_time_t(784111777);

TEST(Backoff, DoublesUpToItsMost) {
  for (const auto& [repetition, expected] : {std::pair{0u, 500ms},
                                             {1u, 1000ms},
                                             {2u, 2000ms},
                                             {3u, 4000ms},
                                             {4u, 8000ms},
                                             {5u, 8000ms},
                                             {63u, 8000ms},
                                             {4294967295u, 8000ms}}) {
    EXPECT_EQ(backoff(repetition, 0), expected) << repetition;
  }
}

TEST(Backoff, ChanceTakesUpToAQuarterOff) {
  for (std::uint32_t repetition = 0; repetition < 12; ++repetition) {
    milliseconds last = backoff(repetition, 0);
    for (double chance = 0.1; chance < 1; chance += 0.1) {
      const milliseconds wait = backoff(repetition, chance);
      EXPECT_LT(wait, last);
      EXPECT_GE(wait, backoff(repetition, 0) * 3 / 4);
      last = wait;
    }
  }
  EXPECT_EQ(backoff(0, 0.9999999), 375ms);
}

TEST(Backoff, ByAnotherRule) {
  const BackoffRule rule{.first = 1000ms, .most = 60'000ms};
  EXPECT_EQ(backoff(2, 0, rule), 4000ms);
  EXPECT_EQ(backoff(9, 0, rule), 60'000ms);
}

TEST(RetryAfter, Numbers) {
  EXPECT_EQ(parse_retry_after("20", example), 20'000ms);
  EXPECT_EQ(parse_retry_after(" 1.5 ", example), 1500ms);
  EXPECT_EQ(parse_retry_after("0", example), 0ms);
  EXPECT_EQ(parse_retry_after_ms("250"), 250ms);
  EXPECT_EQ(parse_retry_after_ms("0.2"), 1ms);
  EXPECT_EQ(parse_retry_delay("20s"), 20'000ms);
  EXPECT_EQ(parse_retry_delay("0.250s"), 250ms);
  EXPECT_GT(parse_retry_after("99999999999999999999999", example), 24h);
}

TEST(RetryAfter, WhatIsNoNumber) {
  for (const char* text : {"", " ", "-1", "nan", "inf", "1e3", "0x10", "20 s", "5,5", "1 2"}) {
    EXPECT_EQ(parse_retry_after(text, example), std::nullopt) << text;
    EXPECT_EQ(parse_retry_after_ms(text), std::nullopt) << text;
  }
  for (const char* text : {"", "s", "20", "20ms", "-3s", "soon"}) {
    EXPECT_EQ(parse_retry_delay(text), std::nullopt) << text;
  }
}

TEST(RetryAfter, DatesInAllThreeForms) {
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"}) {
    EXPECT_EQ(parse_http_date(text), example) << text;
    EXPECT_EQ(parse_retry_after(text, example - 90s), 90'000ms) << text;
    EXPECT_EQ(parse_retry_after(text, example + 90s), 0ms) << text;
    EXPECT_EQ(parse_retry_after(text, example - 90s + 1us), 90'000ms) << text;
  }
  EXPECT_EQ(parse_http_date("Thu, 01 Jan 2032 00:00:00 GMT"),
            system_clock::from_time_t(1956528000));
}

TEST(RetryAfter, WhatIsNoDate) {
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 GMT+1",
                           "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:00:00 GMT", "tomorrow", "06 Nov 1994"}) {
    EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
  }
}

TEST(RetryAfter, YearsThatTheClockDoesNotHold) {
  EXPECT_GT(parse_retry_after("Fri, 31 Dec 9999 23:59:59 GMT", example), 24h);
  EXPECT_GT(parse_retry_after("Mon, 01 Jan 2300 00:00:00 GMT", example), 24h);
  EXPECT_EQ(parse_retry_after("Mon, 01 Jan 1601 00:00:00 GMT", example), 0ms);
}

TEST(RetryAfter, MillisecondsGoBeforeSeconds) {
  HttpReply reply;
  EXPECT_EQ(asked_wait(reply, example), std::nullopt);
  reply.headers = {{"retry-after", "3"}};
  EXPECT_EQ(asked_wait(reply, example), 3000ms);
  reply.headers = {{"retry-after", "3"}, {"retry-after-ms", "2500"}};
  EXPECT_EQ(asked_wait(reply, example), 2500ms);
  reply.headers = {{"retry-after-ms", "soon"}, {"retry-after", "3"}};
  EXPECT_EQ(asked_wait(reply, example), 3000ms);
}

TEST(WaitBefore, AskedOrByTheRuleButNotBeyondTheCap) {
  EXPECT_EQ(wait_before(1, 0, std::nullopt), 1000ms);
  EXPECT_EQ(wait_before(1, 0, 20'000ms), 20'000ms);
  EXPECT_EQ(wait_before(1, 0, 60'000ms), 60'000ms);
  EXPECT_EQ(wait_before(1, 0, 60'001ms), std::nullopt);
  const BackoffRule rule{.cap = 1000ms};
  EXPECT_EQ(wait_before(1, 0, 1001ms, rule), std::nullopt);
}

}  // namespace
}  // namespace runtime::llm
