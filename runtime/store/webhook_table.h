// The table of webhooks: where events of an owner's sandboxes are sent, and which have been
// delivered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/config/secret.h"
#include "runtime/store/database.h"
#include "runtime/store/sandbox_table.h"

namespace runtime {

// One attempt to deliver an event.
struct WebhookTry {
  StoredTime at;
  std::string event;  // the event's kind
  int status = 0;     // status of the answer; 0: there was none
  std::string error;  // why the delivery failed; empty: it succeeded
};

// A secret that was replaced, but is still used for signatures beside the new one until then.
struct FormerSecret {
  Secret secret;
  StoredTime until;

  bool signs_at(StoredTime now) const noexcept { return now < until; }
};

struct WebhookRow {
  std::string id;
  std::string owner;
  StoredTime created;
  std::string name;  // the owner's name for it; may be empty
  std::string url;
  std::vector<std::string> events;  // the kinds of events that are sent
  Secret secret;                    // in the form in which it is shown, "whsec_..."
  std::optional<FormerSecret> former_secret;
  std::string disabled;  // why nothing is sent; empty: the webhook is enabled

  std::uint64_t cursor = 0;    // the number of the last event that needs no more delivery
  std::uint64_t missed = 0;    // events that were dropped before they were considered
  std::uint32_t failures = 0;  // failed attempts for the next event
  std::optional<StoredTime> failing_since;  // the time of the first of them
  std::optional<StoredTime> next_try;       // not before this time; nullopt: at once
  std::optional<WebhookTry> last;
};

// Must be used by one thread at a time. The database must outlive it and have the tables. Errors
// are Database's.
class WebhookTable {
 public:
  explicit WebhookTable(Database& database) : database_(database) {}

  // Adds a webhook, which gets events from now on: `row.cursor` is not read. Returns the cursor.
  jail::Result<std::uint64_t> add(const WebhookRow& row);
  // Replaces the row; does nothing where the webhook was removed.
  jail::Result<void> put(const WebhookRow& row);
  jail::Result<void> remove(const std::string& id);
  // Returns them in the order in which they were added.
  jail::Result<std::vector<WebhookRow>> all();

 private:
  Database& database_;
};

}  // namespace runtime
