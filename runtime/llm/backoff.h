// How long to wait before a call is tried again: what the provider asks for, or else ever longer.
// Pure: time and chance are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/llm/http_client.h"

namespace runtime::llm {

struct BackoffRule {
  std::chrono::milliseconds first{500};  // before the first repetition; doubles with each
  std::chrono::milliseconds most{8'000};
  double jitter = 0.25;                   // that part of it at most is taken off by chance
  std::chrono::milliseconds cap{60'000};  // of what a provider may ask for
};

// Before repetition 0, 1, ...; `chance`, 0 <= chance < 1, is from the caller's random source.
std::chrono::milliseconds backoff(std::uint32_t repetition, double chance,
                                  const BackoffRule& rule = {});

// Each reads one way to ask. Nothing: not understood. A time that has passed is 0.
std::optional<std::chrono::milliseconds> parse_retry_after_ms(std::string_view value);
// Seconds, or a date of HTTP.
std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, std::chrono::system_clock::time_point now);
// "20s", as in RetryInfo of Google's errors.
std::optional<std::chrono::milliseconds> parse_retry_delay(std::string_view value);
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view value);

// What the headers of a reply ask for: retry-after-ms goes before retry-after.
std::optional<std::chrono::milliseconds> asked_wait(const HttpReply& reply,
                                                    std::chrono::system_clock::time_point now);

// The wait before that repetition. Nothing: the provider asks for more than the cap, and to come
// back earlier would only be refused again.
std::optional<std::chrono::milliseconds> wait_before(std::uint32_t repetition, double chance,
                                                     std::optional<std::chrono::milliseconds> asked,
                                                     const BackoffRule& rule = {});

}  // namespace runtime::llm
