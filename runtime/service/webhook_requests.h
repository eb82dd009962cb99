// The fields of requests about webhooks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/service/field.h"
#include "runtime/service/request_rules.h"

namespace runtime {

struct WebhookRequest {
  std::string url;
  std::vector<std::string> events;  // names of SandboxEventKind
  std::string name;
};

// What is not there stays as it is.
struct WebhookChange {
  std::optional<std::string> url;
  std::optional<std::vector<std::string>> events;
  std::optional<std::string> name;
  std::optional<bool> is_enabled;
};

std::span<const RequestField<WebhookRequest>> webhook_fields() noexcept;
std::span<const RequestField<WebhookChange>> webhook_change_fields() noexcept;

// What must be there. A complaint begins with the field's name.
Complaint check_webhook(const WebhookRequest& request);

}  // namespace runtime
