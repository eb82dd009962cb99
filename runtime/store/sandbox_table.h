// The tables of sandboxes and of their events.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/result.h"
#include "runtime/store/database.h"

namespace runtime {

using StoredTime = std::chrono::system_clock::time_point;

struct SandboxRow {
  std::string id;
  std::string owner;
  std::optional<StoredTime> ended;  // nullopt: it lives
  std::string record;               // any bytes
};

struct SandboxEvent {
  std::uint64_t number = 0;  // the owner's number; a later event has a higher one
  std::string sandbox;       // the sandbox's id
  StoredTime at;
  std::string kind;     // a stable word: "process_started"
  std::string request;  // the id of the request that caused it; empty where none did
  std::string detail;   // a JSON object
};

struct SandboxEventQuery {
  std::string owner{};
  std::optional<std::string> sandbox{};  // nullopt: all of the owner's
  std::optional<std::string> kind{};
  std::uint64_t after = 0;   // only those with a higher number
  std::uint64_t before = 0;  // only those with a lower number; 0: all
  std::uint32_t limit = 100;
  bool is_newest_first = false;
};

struct SandboxEventPage {
  std::vector<SandboxEvent> events;
  // The numbers of the owner's first and last event that are kept; 0: there is none.
  std::uint64_t oldest = 0;
  std::uint64_t newest = 0;
  bool has_more = false;
};

// Must be used by one thread at a time. The database must outlive it and have the tables. Errors
// are Database's.
class SandboxTable {
 public:
  // Keeps the latest `kept_events` of each owner's events, or a few more. Events about connections
  // ("egress_..."), which guests cause, are counted apart and bounded by the same number, with at
  // most a tenth for one sandbox. So no flood of one kind drops an event of the other.
  SandboxTable(Database& database, std::uint64_t kept_events)
      : database_(database), kept_events_(kept_events) {}

  // Adds a sandbox, or replaces its row.
  jail::Result<void> put(const SandboxRow& row);
  jail::Result<void> remove(const std::string& id);
  // Returns them in the order in which they were added.
  jail::Result<std::vector<SandboxRow>> all();

  // The numbers of the sandbox's processes that have an event of their start and none of their end.
  jail::Result<std::vector<std::int64_t>> processes_without_end(std::string_view sandbox);

  // `event.number` is not read.
  jail::Result<void> add_event(const std::string& owner, const SandboxEvent& event);
  jail::Result<SandboxEventPage> events(const SandboxEventQuery& query);

 private:
  jail::Result<SandboxEventPage> empty_page(const std::string& owner);
  jail::Result<void> trim(const std::string& owner, const SandboxEvent& added);

  Database& database_;
  const std::uint64_t kept_events_;
  // The number of events that were added, by owner and whether they are about connections.
  std::map<std::pair<std::string, bool>, std::uint64_t> added_;
};

}  // namespace runtime
