// The fields of requests about webhooks.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/config/secret.h"
#include "runtime/service/field.h"
#include "runtime/service/request_rules.h"
#include "runtime/store/sandbox_table.h"

namespace runtime {

struct WebhookRequest {
  std::string url;
  std::vector<std::string> events;  // names of SandboxEventKind
  std::string name;
};

// What is not there stays as it is.
struct WebhookChange {
  // Not a field of a request: it is made here.
  struct NewSecret {
    Secret secret;
    std::optional<StoredTime> former_until;  // the one before it signs till then; nothing: no more
  };

  std::optional<std::string> url;
  std::optional<std::vector<std::string>> events;
  std::optional<std::string> name;
  std::optional<bool> is_enabled;
  std::optional<NewSecret> secret;
};

struct WebhookSecretRequest {
  std::chrono::milliseconds former_signs_for = std::chrono::hours(24);
};

std::span<const RequestField<WebhookRequest>> webhook_fields() noexcept;
std::span<const RequestField<WebhookChange>> webhook_change_fields() noexcept;
std::span<const RequestField<WebhookSecretRequest>> webhook_secret_fields() noexcept;

}  // namespace runtime
