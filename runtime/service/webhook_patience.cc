#include "runtime/service/webhook_patience.h"

#include <algorithm>
#include <string>

#include "runtime/json/writer.h"

namespace runtime {
namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  return json::number_text(std::chrono::duration<double>(time).count()) + " s";
}

}  // namespace

void forgive(WebhookRow& row) {
  row.disabled.clear();
  row.failures = 0;
  row.failing_since.reset();
  row.next_try.reset();
}

void note_try(WebhookRow& row, const WebhookSent& sent, const WebhookPatience& patience,
              double chance) {
  const StoredTime now = sent.attempt.at;
  row.last = sent.attempt;
  if (sent.attempt.error.empty()) {
    forgive(row);
    return;
  }
  const auto wait = llm::backoff(row.failures, chance, patience.backoff);
  ++row.failures;
  if (!row.failing_since) row.failing_since = now;
  // The clock may have been set back meanwhile.
  const StoredTime since = std::min(*row.failing_since, now);
  const StoredTime last_chance = since + patience.retry;
  const auto asked =
      std::min(sent.asked_wait.value_or(std::chrono::milliseconds(0)), patience.backoff.cap);
  row.next_try = std::min(now + std::max(wait, asked), last_chance);
  if (sent.is_gone) {
    row.disabled = "it answered 410 Gone";
  } else if (now >= last_chance) {
    row.disabled = "no try succeeded for " + seconds_text(patience.retry) +
                   ", the last one: " + sent.attempt.error;
  }
  if (!row.disabled.empty()) row.next_try.reset();
}

}  // namespace runtime
