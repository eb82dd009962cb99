#include "server/cli/webhooks/webhooks_text.h"

#include <string_view>
#include <vector>

#include "runtime/json/members.h"
#include "server/cli/sandbox/json_text.h"
#include "server/cli/sandbox/table.h"

namespace server::client {
namespace {

namespace json = runtime::json;

std::string kinds_of(const json::Value& webhook) {
  const json::Array* const events = array_in(webhook, "events");
  std::string text;
  if (events == nullptr) return "-";
  for (const json::Value& event : *events) {
    const std::string* const kind = event.as_string();
    if (kind != nullptr) text += (text.empty() ? "" : ",") + *kind;
  }
  return text.empty() ? "-" : text;
}

std::string webhook_state(const json::Value& webhook) {
  if (shown(webhook, "enabled") != "true") return "disabled";
  return shown(webhook, "failing_since") == "-" ? "enabled" : "failing";
}

bool was_delivered(const json::Value& attempt) { return shown(attempt, "delivered") == "true"; }

// The latest try, in few words; "-" where there was none.
std::string short_try(const json::Value& webhook) {
  const json::Value* const last = json::member(webhook, "last_try");
  if (last == nullptr || last->as_object() == nullptr) return "-";
  return shown_time(*last, "at") + (was_delivered(*last) ? " delivered" : " failed");
}

}  // namespace

std::string webhooks_text(const json::Array& webhooks, std::size_t width) {
  const std::vector<Column> columns = {{.title = "ID"},
                                       {.title = "STATE"},
                                       {.title = "URL", .min_width = 16},
                                       {.title = "LAST TRY (UTC)"},
                                       {.title = "EVENTS", .min_width = 10},
                                       {.title = "NAME", .min_width = 8}};
  std::vector<std::vector<std::string>> rows;
  for (const json::Value& webhook : webhooks) {
    const std::string name = shown(webhook, "name");
    rows.push_back({shown(webhook, "id"), webhook_state(webhook), shown(webhook, "url"),
                    short_try(webhook), kinds_of(webhook), name.empty() ? "-" : name});
  }
  return table(columns, rows, width);
}

std::string webhook_text(const json::Value& webhook) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (value != "-" && !value.empty()) text += std::string(name) + ": " + value + "\n";
  };
  add("id", shown(webhook, "id"));
  add("name", shown(webhook, "name"));
  add("url", shown(webhook, "url"));
  add("events", kinds_of(webhook));
  add("created", shown_moment(webhook, "created_at"));
  add("state", webhook_state(webhook));
  add("disabled because", shown(webhook, "disabled_reason"));
  add("failing since", shown_moment(webhook, "failing_since"));
  add("next try", shown_moment(webhook, "next_try_at"));
  const std::string missed = shown(webhook, "missed_events");
  if (missed != "0") add("events missed", missed);
  const json::Value* const last = json::member(webhook, "last_try");
  if (last != nullptr && last->as_object() != nullptr) {
    add("last try",
        shown_moment(*last, "at") + ", " + shown(*last, "event") + ": " + webhook_try_text(*last));
  }
  add("old secret signs until", shown_moment(webhook, "previous_secret_until"));
  add("secret", shown(webhook, "secret"));
  return text;
}

std::string webhook_try_text(const json::Value& attempt) {
  const std::string status = shown(attempt, "status");
  if (was_delivered(attempt)) return "delivered, status " + status;
  return "not delivered: " + shown(attempt, "error");
}

}  // namespace server::client
