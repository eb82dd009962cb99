// Webhooks as JSON for callers.
#pragma once

#include "runtime/json/writer.h"
#include "runtime/store/webhook_table.h"

namespace runtime {

enum class WebhookSecretShown : std::uint8_t { no, yes };

void write_webhook(json::Writer& writer, const WebhookRow& webhook,
                   WebhookSecretShown secret = WebhookSecretShown::no);
void write_webhook_try(json::Writer& writer, const WebhookTry& attempt);

}  // namespace runtime
