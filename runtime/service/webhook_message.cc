#include "runtime/service/webhook_message.h"

#include <optional>
#include <string_view>

#include "runtime/json/base64.h"
#include "runtime/json/utc_text.h"
#include "runtime/json/writer.h"
#include "runtime/observe/uuid.h"
#include "runtime/service/sandbox_json.h"
#include "runtime/store/digest.h"

namespace runtime {
namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr std::size_t secret_bytes = 24;

json::Writer begin_message(const WebhookMessage& message, StoredTime at) {
  json::Writer writer;
  writer.begin_object().key("id").string(message.id).key("type").string(message.type);
  writer.key("timestamp").string(json::utc_text(at));
  return writer;
}

// The signing key's bytes.
std::string key_of(const Secret& secret) {
  const auto text = std::string_view(secret.reveal()).substr(secret_prefix.size());
  return json::decode_base64(text).value_or(std::string());
}

}  // namespace

WebhookMessage message_of(const SandboxEvent& event) {
  WebhookMessage message;
  message.id = "evt_" + event.sandbox + "_" + std::to_string(event.number);
  message.type = event.kind;
  json::Writer writer = begin_message(message, event.at);
  writer.key("sandbox_id").string(event.sandbox).key("data");
  write_event(writer, event);
  writer.end_object();
  message.body = std::move(writer).take();
  return message;
}

WebhookMessage test_message(std::chrono::system_clock::time_point now) {
  WebhookMessage message;
  message.id = "evt_test_" + random_text();
  message.type = "test";
  json::Writer writer = begin_message(message, now);
  writer.key("sandbox_id").null().key("data").begin_object().end_object().end_object();
  message.body = std::move(writer).take();
  return message;
}

Secret make_webhook_secret() {
  return Secret(std::string(secret_prefix) + json::base64(random_bytes(secret_bytes)));
}

std::vector<Secret> secrets_of(const WebhookRow& webhook,
                               std::chrono::system_clock::time_point now) {
  std::vector<Secret> secrets{webhook.secret};
  const auto& former = webhook.former_secret;
  if (former && former->signs_at(now)) secrets.push_back(former->secret);
  return secrets;
}

std::vector<std::pair<std::string, std::string>> webhook_headers(
    const WebhookMessage& message, const std::vector<Secret>& secrets,
    std::chrono::system_clock::time_point now) {
  const auto since_1970 = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  const std::string timestamp = std::to_string(since_1970.count());
  const std::string bytes = message.id + "." + timestamp + "." + message.body;
  std::string signatures;
  for (const Secret& secret : secrets) {
    signatures += signatures.empty() ? "v1," : " v1,";
    signatures += json::base64(hmac_sha256(key_of(secret), bytes));
  }
  return {{"Content-Type", "application/json"},
          {"webhook-id", message.id},
          {"webhook-timestamp", timestamp},
          {"webhook-signature", signatures}};
}

}  // namespace runtime
