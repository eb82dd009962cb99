// Decides after each try to deliver an event when the next try is, and when there is none any more.
// Pure: time and chance are parameters.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/llm/backoff.h"
#include "runtime/store/webhook_table.h"

namespace runtime {

struct WebhookPatience {
  // How long consecutive tries may fail before the webhook is disabled.
  std::chrono::milliseconds retry{std::chrono::hours(24)};
  // The wait is doubled from the first to the longest, which is also the longest that a receiver
  // may ask for.
  llm::BackoffRule backoff{.first = std::chrono::seconds(1),
                           .most = std::chrono::hours(1),
                           .jitter = 0.25,
                           .cap = std::chrono::hours(1)};
};

// One try, and the wishes in its answer.
struct WebhookSent {
  WebhookTry attempt;
  // The wait that the receiver asks for (Retry-After).
  std::optional<std::chrono::milliseconds> asked_wait{};
  bool is_gone = false;  // the receiver wants no more events: 410
};

inline bool is_delivery(const WebhookSent& sent) { return sent.attempt.error.empty(); }

// Notes a failed or successful try in the row, except for the delivery itself. `chance`, 0 <=
// chance < 1, is from the caller's random source.
void note_try(WebhookRow& row, const WebhookSent& sent, const WebhookPatience& patience,
              double chance);

// Resets the row: no try has failed, and the webhook is enabled.
void forgive(WebhookRow& row);

}  // namespace runtime
