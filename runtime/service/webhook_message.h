// The messages to webhooks, by the specification Standard Webhooks, whose libraries verify them:
// https://www.standardwebhooks.com.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/secret.h"
#include "runtime/store/sandbox_table.h"
#include "runtime/store/webhook_table.h"

namespace runtime {

struct WebhookMessage {
  std::string id;    // the same in every try, and at every webhook
  std::string type;  // the event's kind
  std::string body;  // JSON
};

WebhookMessage message_of(const SandboxEvent& event);

// A message of type "test", about no sandbox.
WebhookMessage test_message(std::chrono::system_clock::time_point now);

// Makes "whsec_" and 24 random bytes in base64.
Secret make_webhook_secret();

// The secrets for a message that is sent at `now`: the current one, and the former one while it is
// valid.
std::vector<Secret> secrets_of(const WebhookRow& webhook,
                               std::chrono::system_clock::time_point now);

// The headers of a try at `now`, with a signature for each of `secrets`, which are from
// make_webhook_secret(). A receiver accepts the message when one of the signatures fits the secret
// it knows.
std::vector<std::pair<std::string, std::string>> webhook_headers(
    const WebhookMessage& message, const std::vector<Secret>& secrets,
    std::chrono::system_clock::time_point now);

}  // namespace runtime
