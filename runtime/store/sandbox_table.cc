#include "runtime/store/sandbox_table.h"

#include <algorithm>
#include <string_view>

#include "runtime/store/stored_time.h"

namespace runtime {

using jail::Result;

namespace {

constexpr std::string_view of_connections = "egress_";
// Counting rows takes long, so it is not done for each event.
constexpr std::uint64_t trims_per_kept = 64;
constexpr std::uint64_t sandboxes_per_owner = 10;  // whose connection events are all kept

}  // namespace

Result<void> SandboxTable::put(const SandboxRow& row) {
  auto statement = database_.prepare(
      "INSERT INTO sandboxes (id, owner, ended, record) VALUES (?, ?, ?, ?)"
      " ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, record = excluded.record");
  if (!statement) return statement.error();
  statement->text(row.id).text(row.owner);
  row.ended ? statement->integer(to_microseconds(*row.ended)) : statement->null();
  statement->blob(row.record);
  return statement->run();
}

Result<void> SandboxTable::remove(const std::string& id) {
  auto statement = database_.prepare("DELETE FROM sandboxes WHERE id = ?");
  if (!statement) return statement.error();
  statement->text(id);
  return statement->run();
}

Result<std::vector<SandboxRow>> SandboxTable::all() {
  auto statement = database_.prepare("SELECT id, owner, ended, record FROM sandboxes ORDER BY seq");
  if (!statement) return statement.error();
  std::vector<SandboxRow> rows;
  for (;;) {
    const auto is_there = statement->step();
    if (!is_there) return is_there.error();
    if (!*is_there) return rows;
    SandboxRow row;
    row.id = statement->text_at(0);
    row.owner = statement->text_at(1);
    if (!statement->null_at(2)) row.ended = from_microseconds(statement->integer_at(2));
    row.record = statement->blob_at(3);
    rows.push_back(std::move(row));
  }
}

// The kernel uses a number again, so the latest event of each number counts.
Result<std::vector<std::int64_t>> SandboxTable::processes_without_end(std::string_view sandbox) {
  auto statement = database_.prepare(
      "SELECT pid FROM (SELECT json_extract(detail, '$.pid') AS pid, kind, max(number)"
      " FROM sandbox_events WHERE sandbox = ? AND kind IN ('process_started', 'process_ended')"
      " GROUP BY 1) WHERE kind = 'process_started' AND pid > 0 ORDER BY pid");
  if (!statement) return statement.error();
  statement->text(sandbox);
  std::vector<std::int64_t> pids;
  for (;;) {
    const auto is_there = statement->step();
    if (!is_there) return is_there.error();
    if (!*is_there) return pids;
    pids.push_back(statement->integer_at(0));
  }
}

Result<void> SandboxTable::add_event(const std::string& owner, const SandboxEvent& event) {
  auto insert = database_.prepare(
      "INSERT INTO sandbox_events (owner, number, sandbox, at, kind, request, detail)"
      " SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6"
      " FROM sandbox_events WHERE owner = ?1");
  if (!insert) return insert.error();
  insert->text(owner).text(event.sandbox).integer(to_microseconds(event.at));
  insert->text(event.kind).text(event.request).text(event.detail);
  if (auto done = insert->run(); !done) return done;
  return trim(owner, event);
}

Result<void> SandboxTable::trim(const std::string& owner, const SandboxEvent& added) {
  const bool is_of_connections = added.kind.starts_with(of_connections);
  const std::uint64_t count = added_[{owner, is_of_connections}]++;
  const auto drop = [&](const char* statement, const std::string& whose, std::uint64_t kept) {
    auto trim = database_.prepare(statement);
    if (!trim) return Result<void>(trim.error());
    trim->text(whose).integer(is_of_connections ? 1 : 0).integer(static_cast<std::int64_t>(kept));
    return trim->run();
  };
  if (is_of_connections) {
    const auto of_sandbox = drop(
        "DELETE FROM sandbox_events WHERE sandbox = ?1 AND (substr(kind, 1, 7) = 'egress_') = ?2"
        " AND number <= (SELECT number FROM sandbox_events WHERE sandbox = ?1"
        " AND (substr(kind, 1, 7) = 'egress_') = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)",
        added.sandbox, (kept_events_ + sandboxes_per_owner - 1) / sandboxes_per_owner);
    if (!of_sandbox) return of_sandbox;
  }
  if (count % std::max<std::uint64_t>(1, kept_events_ / trims_per_kept) != 0) return {};
  return drop(
      "DELETE FROM sandbox_events WHERE owner = ?1 AND (substr(kind, 1, 7) = 'egress_') = ?2"
      " AND number <= (SELECT number FROM sandbox_events WHERE owner = ?1"
      " AND (substr(kind, 1, 7) = 'egress_') = ?2 ORDER BY number DESC LIMIT 1 OFFSET ?3)",
      owner, kept_events_);
}

// Each of the two numbers is the first in an index, which one query for both could not use.
Result<SandboxEventPage> SandboxTable::empty_page(const std::string& owner) {
  auto statement = database_.prepare(
      "SELECT (SELECT coalesce(min(number), 0) FROM sandbox_events WHERE owner = ?1),"
      " (SELECT coalesce(max(number), 0) FROM sandbox_events WHERE owner = ?1)");
  if (!statement) return statement.error();
  statement->text(owner);
  if (const auto row = statement->step(); !row) return row.error();
  SandboxEventPage page;
  page.oldest = static_cast<std::uint64_t>(statement->integer_at(0));
  page.newest = static_cast<std::uint64_t>(statement->integer_at(1));
  return page;
}

Result<SandboxEventPage> SandboxTable::events(const SandboxEventQuery& query) {
  auto page = empty_page(query.owner);
  if (!page) return page;
  auto statement = database_.prepare(
      "SELECT number, sandbox, at, kind, request, detail FROM sandbox_events"
      " WHERE owner = ?1 AND (?2 IS NULL OR sandbox = ?2)"
      " AND (?3 IS NULL OR kind = ?3) AND number > ?4 AND (?5 = 0 OR number < ?5)"
      " ORDER BY number " +
      std::string(query.is_newest_first ? "DESC" : "ASC") + " LIMIT ?6");
  if (!statement) return statement.error();
  const auto text_or_null = [&](const std::optional<std::string>& value) {
    value ? statement->text(*value) : statement->null();
  };
  statement->text(query.owner);
  text_or_null(query.sandbox);
  text_or_null(query.kind);
  statement->integer(static_cast<std::int64_t>(query.after));
  statement->integer(static_cast<std::int64_t>(query.before));
  statement->integer(std::int64_t{query.limit} + 1);
  for (;;) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return page;
    if (page->events.size() == query.limit) {
      page->has_more = true;
      return page;
    }
    SandboxEvent event;
    event.number = static_cast<std::uint64_t>(statement->integer_at(0));
    event.sandbox = statement->text_at(1);
    event.at = from_microseconds(statement->integer_at(2));
    event.kind = statement->text_at(3);
    event.request = statement->text_at(4);
    event.detail = statement->text_at(5);
    page->events.push_back(std::move(event));
  }
}

}  // namespace runtime
