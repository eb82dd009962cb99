// The wait before a call is repeated: the time that the provider asks for, or else an ever longer
// one. Pure: time and chance are parameters.
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
  double jitter = 0.25;                   // the largest part that chance takes off
  std::chrono::milliseconds cap{60'000};  // on the wait that a provider asks for
};

// The wait before repetition 0, 1, ...; `chance`, 0 <= chance < 1, is from the caller's random
// source.
std::chrono::milliseconds backoff(std::uint32_t repetition, double chance,
                                  const BackoffRule& rule = {});

// Each of these parses one form of the provider's wish. Returns std::nullopt where it is not
// understood. A time that has passed is 0.
std::optional<std::chrono::milliseconds> parse_retry_after_ms(std::string_view value);
// Parses seconds, or an HTTP date.
std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view value, std::chrono::system_clock::time_point now);
// Parses "20s", as in RetryInfo of Google's errors.
std::optional<std::chrono::milliseconds> parse_retry_delay(std::string_view value);
std::optional<std::chrono::system_clock::time_point> parse_http_date(std::string_view value);

// The wait that the headers of a reply ask for: retry-after-ms has precedence over retry-after.
std::optional<std::chrono::milliseconds> asked_wait(const HttpReply& reply,
                                                    std::chrono::system_clock::time_point now);

// The wait before that repetition. Returns std::nullopt where the provider asks for more than the
// cap: an earlier call would only be refused again.
std::optional<std::chrono::milliseconds> wait_before(std::uint32_t repetition, double chance,
                                                     std::optional<std::chrono::milliseconds> asked,
                                                     const BackoffRule& rule = {});

}  // namespace runtime::llm
