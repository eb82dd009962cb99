// What becomes of a webhook with each try to deliver an event: when the next one is, and when there
// is none any more. Pure: time and chance are given.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/llm/backoff.h"
#include "runtime/store/webhook_table.h"

namespace runtime {

struct WebhookPatience {
  // How long tries may fail, one after the other, before the webhook is disabled.
  std::chrono::milliseconds retry{std::chrono::hours(24)};
  // Doubled from the first wait to the longest, which is as long as a receiver may ask for.
  llm::BackoffRule backoff{.first = std::chrono::seconds(1),
                           .most = std::chrono::hours(1),
                           .jitter = 0.25,
                           .cap = std::chrono::hours(1)};
};

// One try, and what its answer asks for.
struct WebhookSent {
  WebhookTry attempt;
  // How long to wait (Retry-After).
  std::optional<std::chrono::milliseconds> asked_wait{};
  bool is_gone = false;  // the receiver wants nothing any more: 410
};

inline bool is_delivery(const WebhookSent& sent) { return sent.attempt.error.empty(); }

// Notes a try in the row, but for what was delivered. `chance`, 0 <= chance < 1, is from the
// caller's random source.
void note_try(WebhookRow& row, const WebhookSent& sent, const WebhookPatience& patience,
              double chance);

// As if no try had failed, and enabled.
void forgive(WebhookRow& row);

}  // namespace runtime
