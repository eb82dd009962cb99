// What is sent to a webhook, as the specification Standard Webhooks has it, whose libraries verify
// it: https://www.standardwebhooks.com.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runtime/config/secret.h"
#include "runtime/store/sandbox_table.h"

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

// The headers of a try at `now`; `secret` is of make_webhook_secret().
std::vector<std::pair<std::string, std::string>> webhook_headers(
    const WebhookMessage& message, const Secret& secret, std::chrono::system_clock::time_point now);

}  // namespace runtime
