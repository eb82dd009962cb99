#include "runtime/service/webhook_json.h"

#include <optional>

#include "runtime/json/utc_text.h"

namespace runtime {
namespace {

void write_time_or_null(json::Writer& writer, std::string_view name,
                        const std::optional<StoredTime>& time) {
  writer.key(name);
  time ? writer.string(json::utc_text(*time)) : writer.null();
}

void write_words_or_null(json::Writer& writer, std::string_view name, const std::string& words) {
  writer.key(name);
  words.empty() ? writer.null() : writer.string(words);
}

}  // namespace

void write_webhook_try(json::Writer& writer, const WebhookTry& attempt) {
  writer.begin_object().key("at").string(json::utc_text(attempt.at));
  writer.key("event").string(attempt.event);
  writer.key("delivered").boolean(attempt.error.empty());
  writer.key("status");
  attempt.status == 0 ? writer.null() : writer.integer(attempt.status);
  write_words_or_null(writer, "error", attempt.error);
  writer.end_object();
}

void write_webhook(json::Writer& writer, const WebhookRow& webhook, WebhookSecretShown secret) {
  writer.begin_object().key("id").string(webhook.id).key("name").string(webhook.name);
  writer.key("url").string(webhook.url).key("events").begin_array();
  for (const std::string& kind : webhook.events) writer.string(kind);
  writer.end_array();
  writer.key("created_at").string(json::utc_text(webhook.created));
  writer.key("enabled").boolean(webhook.disabled.empty());
  write_words_or_null(writer, "disabled_reason", webhook.disabled);
  writer.key("failures").integer(webhook.failures);
  const auto& former = webhook.former_secret;
  const bool does_it_sign = former && former->signs_at(std::chrono::system_clock::now());
  write_time_or_null(writer, "previous_secret_until",
                     does_it_sign ? std::optional(former->until) : std::nullopt);
  write_time_or_null(writer, "failing_since", webhook.failing_since);
  write_time_or_null(writer, "next_try_at", webhook.next_try);
  writer.key("missed_events").integer(static_cast<std::int64_t>(webhook.missed));
  writer.key("last_try");
  webhook.last ? write_webhook_try(writer, *webhook.last) : static_cast<void>(writer.null());
  if (secret == WebhookSecretShown::yes) writer.key("secret").string(webhook.secret.reveal());
  writer.end_object();
}

}  // namespace runtime
