// The table of webhooks: where events of an owner's sandboxes are sent, and how far that has got.
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

// One try to deliver an event.
struct WebhookTry {
  StoredTime at;
  std::string event;  // its kind
  int status = 0;     // of the answer; 0: there was none
  std::string error;  // why it was no delivery; empty: it was one
};

// A secret that was replaced, and signs beside the new one until then.
struct FormerSecret {
  Secret secret;
  StoredTime until;

  bool signs_at(StoredTime now) const noexcept { return now < until; }
};

struct WebhookRow {
  std::string id;
  std::string owner;
  StoredTime created;
  std::string name;  // the owner's; may be empty
  std::string url;
  std::vector<std::string> events;  // the kinds that are sent
  Secret secret;                    // as it is shown, "whsec_..."
  std::optional<FormerSecret> former_secret;
  std::string disabled;  // why nothing is sent; empty: it is enabled

  std::uint64_t cursor = 0;    // the number of the last event that needs no delivery any more
  std::uint64_t missed = 0;    // events that were dropped before they could be looked at
  std::uint32_t failures = 0;  // tries of the next event
  std::optional<StoredTime> failing_since;  // when the first of them failed
  std::optional<StoredTime> next_try;       // not before it; nothing: at once
  std::optional<WebhookTry> last;
};

// For one thread at a time. The database outlives it and has the tables. Errors are Database's.
class WebhookTable {
 public:
  explicit WebhookTable(Database& database) : database_(database) {}

  // `row.cursor` is not read: events are sent from now on. Returns the cursor.
  jail::Result<std::uint64_t> add(const WebhookRow& row);
  // Takes the place of what is known of it; nothing where it was removed.
  jail::Result<void> put(const WebhookRow& row);
  jail::Result<void> remove(const std::string& id);
  // The one that was added first comes first.
  jail::Result<std::vector<WebhookRow>> all();

 private:
  Database& database_;
};

}  // namespace runtime
