// What `agent-sandbox webhook` was told to do, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/cli/sandbox/sandbox_options.h"

namespace server::client {

struct CreateWebhookOptions {
  std::string url;
  std::vector<std::string> events;  // not empty
  std::string name;
  Format format = Format::text;
};

struct ListWebhooksOptions {
  Format format = Format::text;
};

struct GetWebhookOptions {
  std::string id;
  Format format = Format::text;
};

// What is not set stays.
struct ChangeWebhookOptions {
  std::string id;
  std::optional<std::string> url;
  std::vector<std::string> events;  // empty: they stay
  std::optional<std::string> name;
  std::optional<bool> is_enabled;
  Format format = Format::text;
};

struct TestWebhookOptions {
  std::string id;
  Format format = Format::text;
};

struct WebhookSecretOptions {
  std::string id;
  std::optional<double> previous_seconds;
  Format format = Format::text;
};

struct DeleteWebhooksOptions {
  std::vector<std::string> ids;  // not empty
};

using WebhooksOptions =
    std::variant<CreateWebhookOptions, ListWebhooksOptions, GetWebhookOptions, ChangeWebhookOptions,
                 TestWebhookOptions, WebhookSecretOptions, DeleteWebhooksOptions>;

}  // namespace server::client
