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
  std::vector<std::string> events;  // names of SandboxEventKind values
  std::string name;
};

// Fields that are not set keep their values.
struct WebhookChange {
  // Not a field of a request: the server makes it.
  struct NewSecret {
    Secret secret;
    std::optional<StoredTime> former_until;  // until when the former secret signs as well; nullopt:
                                             // not at all
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
