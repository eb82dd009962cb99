#include "runtime/service/webhook_requests.h"

#include <algorithm>

#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_event_kind.h"
#include "runtime/service/webhook_destinations.h"

namespace runtime {
namespace {

constexpr double max_webhook_name_bytes = 100;
constexpr double max_previous_seconds = 604'800;

constexpr Field url_field = {.name = "url",
                             .type = Field::Type::text,
                             .min = 1,
                             .max = max_webhook_url_bytes,
                             .unit = "bytes",
                             .description =
                                 "Where the events are sent. It is within what the operator allows "
                                 "(SANDBOX_WEBHOOKS_ALLOW), which is nothing by default."};

constexpr Field events_field = {
    .name = "events",
    .type = Field::Type::list,
    .min = 1,
    .max = sandbox_event_kinds,
    .expected = "kinds of events, as GET /v1/sandboxes/{id}/events has them",
    .description = "The kinds of events that are sent, each once.",
    .schema = {string_items, {"uniqueItems", "true"}}};

constexpr Field name_field = {.name = "name",
                              .type = Field::Type::text,
                              .max = max_webhook_name_bytes,
                              .unit = "bytes",
                              .default_json = R"("")",
                              .description = "The caller's own word for it."};

Complaint read_kinds(const Field& field, const json::Value& value, const RequestRules& rules,
                     std::vector<std::string>& events) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || !is_within(field, static_cast<double>(list->size()), rules)) {
    return expectation(field, rules);
  }
  for (const json::Value& item : *list) {
    const std::string* const kind = item.as_string();
    if (kind == nullptr || !sandbox_event_kind_named(*kind)) {
      return "expected kinds of events: " + sandbox_event_kind_names();
    }
    if (std::find(events.begin(), events.end(), *kind) != events.end()) {
      return "expected each kind once: " + *kind;
    }
    events.push_back(*kind);
  }
  return std::nullopt;
}

Complaint read_events(const Field& field, const json::Value& value, const RequestRules& rules,
                      WebhookRequest& request) {
  return read_kinds(field, value, rules, request.events);
}

Complaint read_new_events(const Field& field, const json::Value& value, const RequestRules& rules,
                          WebhookChange& request) {
  return read_kinds(field, value, rules, request.events.emplace());
}

constexpr RequestField<WebhookRequest> webhook_rows[] = {
    {required(url_field), read_text<&WebhookRequest::url>},
    {required(events_field), read_events},
    {name_field, read_text<&WebhookRequest::name>}};

constexpr RequestField<WebhookChange> webhook_change_rows[] = {
    {url_field, read_text<&WebhookChange::url>},
    {events_field, read_new_events},
    {name_field, read_text<&WebhookChange::name>},
    {{.name = "enabled",
      .type = Field::Type::boolean,
      .description = "False stops it, and it keeps its place. True lets it go on behind the last "
                     "event that was delivered, as if no try had failed."},
     read_flag<&WebhookChange::is_enabled>}};

constexpr RequestField<WebhookSecretRequest> webhook_secret_rows[] = {
    {{.name = "previous_seconds",
      .type = Field::Type::number,
      .min = 0,
      .max = max_previous_seconds,
      .unit = "seconds",
      .default_json = "86400",
      .description = "How long the secret before it signs too, so that a receiver has time to "
                     "learn the new one. 0 where it leaked."},
     read_seconds<&WebhookSecretRequest::former_signs_for>}};

}  // namespace

std::span<const RequestField<WebhookRequest>> webhook_fields() noexcept { return webhook_rows; }
std::span<const RequestField<WebhookChange>> webhook_change_fields() noexcept {
  return webhook_change_rows;
}

std::span<const RequestField<WebhookSecretRequest>> webhook_secret_fields() noexcept {
  return webhook_secret_rows;
}

}  // namespace runtime
