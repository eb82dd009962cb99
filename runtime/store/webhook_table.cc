#include "runtime/store/webhook_table.h"

#include <string_view>

#include "runtime/store/stored_time.h"

namespace runtime {

using jail::Result;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return words;
}

void bind_time(Statement& statement, const std::optional<StoredTime>& time) {
  time ? statement.integer(to_microseconds(*time)) : statement.null();
}

std::optional<StoredTime> time_at(const Statement& statement, int column) {
  if (statement.null_at(column)) return std::nullopt;
  return from_microseconds(statement.integer_at(column));
}

// Binds the columns from `name` on, in their order, except the cursor.
void bind_what_changes(Statement& statement, const WebhookRow& row) {
  statement.text(row.name).text(row.url).text(joined(row.events)).text(row.secret.reveal());
  const auto& former = row.former_secret;
  former ? statement.text(former->secret.reveal()) : statement.null();
  bind_time(statement, former ? std::optional(former->until) : std::nullopt);
  statement.text(row.disabled).integer(static_cast<std::int64_t>(row.missed));
  statement.integer(row.failures);
  bind_time(statement, row.failing_since);
  bind_time(statement, row.next_try);
  bind_time(statement, row.last ? std::optional(row.last->at) : std::nullopt);
  const WebhookTry last = row.last.value_or(WebhookTry());
  statement.text(last.event).integer(last.status).text(last.error);
}

WebhookRow row_of(const Statement& statement) {
  WebhookRow row;
  row.id = statement.text_at(0);
  row.owner = statement.text_at(1);
  row.created = from_microseconds(statement.integer_at(2));
  row.name = statement.text_at(3);
  row.url = statement.text_at(4);
  row.events = split(statement.text_at(5));
  row.secret = Secret(statement.text_at(6));
  if (const auto until = time_at(statement, 8)) {
    row.former_secret = FormerSecret{Secret(statement.text_at(7)), *until};
  }
  row.disabled = statement.text_at(9);
  row.missed = static_cast<std::uint64_t>(statement.integer_at(10));
  row.failures = static_cast<std::uint32_t>(statement.integer_at(11));
  row.failing_since = time_at(statement, 12);
  row.next_try = time_at(statement, 13);
  if (const auto at = time_at(statement, 14)) {
    row.last = WebhookTry{*at, statement.text_at(15), static_cast<int>(statement.integer_at(16)),
                          statement.text_at(17)};
  }
  row.cursor = static_cast<std::uint64_t>(statement.integer_at(18));
  return row;
}

}  // namespace

Result<std::uint64_t> WebhookTable::add(const WebhookRow& row) {
  auto insert = database_.prepare(
      "INSERT INTO webhooks (name, url, events, secret, former_secret, former_until, disabled,"
      " missed, failures, failing_since, next_try, last_at, last_event, last_status, last_error,"
      " id, owner, created, cursor)"
      " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,"
      " coalesce(max(number), 0) FROM sandbox_events WHERE owner = ?17 RETURNING cursor");
  if (!insert) return insert.error();
  bind_what_changes(*insert, row);
  insert->text(row.id).text(row.owner).integer(to_microseconds(row.created));
  if (const auto is_there = insert->step(); !is_there) return is_there.error();
  const auto cursor = static_cast<std::uint64_t>(insert->integer_at(0));
  if (auto done = insert->run(); !done) return done.error();
  return cursor;
}

Result<void> WebhookTable::put(const WebhookRow& row) {
  auto update = database_.prepare(
      "UPDATE webhooks SET name = ?, url = ?, events = ?, secret = ?, former_secret = ?,"
      " former_until = ?, disabled = ?, missed = ?, failures = ?, failing_since = ?, next_try = ?,"
      " last_at = ?, last_event = ?, last_status = ?, last_error = ?, cursor = ? WHERE id = ?");
  if (!update) return update.error();
  bind_what_changes(*update, row);
  update->integer(static_cast<std::int64_t>(row.cursor)).text(row.id);
  return update->run();
}

Result<void> WebhookTable::remove(const std::string& id) {
  auto statement = database_.prepare("DELETE FROM webhooks WHERE id = ?");
  if (!statement) return statement.error();
  statement->text(id);
  return statement->run();
}

Result<std::vector<WebhookRow>> WebhookTable::all() {
  auto statement = database_.prepare(
      "SELECT id, owner, created, name, url, events, secret, former_secret, former_until,"
      " disabled, missed, failures, failing_since, next_try, last_at, last_event, last_status,"
      " last_error, cursor FROM webhooks ORDER BY seq");
  if (!statement) return statement.error();
  std::vector<WebhookRow> rows;
  for (;;) {
    const auto is_there = statement->step();
    if (!is_there) return is_there.error();
    if (!*is_there) return rows;
    rows.push_back(row_of(*statement));
  }
}

}  // namespace runtime
