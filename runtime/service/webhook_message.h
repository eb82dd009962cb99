// What is sent to a webhook, as the specification Standard Webhooks has it, whose libraries verify
// it: https://www.standardwebhooks.com.
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
  std::string id;    // the same with every try, and at every webhook
  std::string type;  // the event's kind
  std::string body;  // JSON
};

WebhookMessage message_of(const SandboxEvent& event);

// One of type "test", about no sandbox.
WebhookMessage test_message(std::chrono::system_clock::time_point now);

// "whsec_" and 24 random bytes in base64.
Secret make_webhook_secret();

// Those that sign what is sent to it at `now`: its own, and the one before it as long as that does.
std::vector<Secret> secrets_of(const WebhookRow& webhook,
                               std::chrono::system_clock::time_point now);

// The headers of a try at `now`, with a signature by each of `secrets`, which are of
// make_webhook_secret(). A receiver takes the message when one of them is by the secret it knows.
std::vector<std::pair<std::string, std::string>> webhook_headers(
    const WebhookMessage& message, const std::vector<Secret>& secrets,
    std::chrono::system_clock::time_point now);

}  // namespace runtime
