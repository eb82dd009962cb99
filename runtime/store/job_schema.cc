#include "runtime/store/job_schema.h"

namespace runtime {
namespace {

using jail::Result;

// "agsb" distinguishes our files from those of other programs.
constexpr std::int64_t application_id = 0x61677362;
constexpr std::int64_t schema_version = 6;
constexpr std::int64_t first_version_with_webhooks = 5;
constexpr std::int64_t first_version_with_sandboxes = 4;
constexpr std::int64_t first_version_with_records = 3;

constexpr const char* schema = R"sql(
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  language TEXT NOT NULL,
  code_sha256 TEXT NOT NULL,
  created INTEGER NOT NULL,
  finished INTEGER,
  execution_time_ms REAL,
  bytes INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL DEFAULT 'code',
  record BLOB NOT NULL DEFAULT x'');
CREATE INDEX jobs_by_time ON jobs (created, id);
INSERT INTO settings VALUES ('salt', lower(hex(randomblob(32))));
)sql";

// A job's checkpoints are rows of their own, so that one more costs the same however many there
// are.
constexpr const char* checkpoint_schema = R"sql(
CREATE TABLE checkpoints (
  job INTEGER NOT NULL,
  place INTEGER NOT NULL,
  record BLOB NOT NULL DEFAULT x'',
  PRIMARY KEY (job, place)) WITHOUT ROWID;
CREATE TRIGGER job_dropped AFTER DELETE ON jobs BEGIN
  DELETE FROM checkpoints WHERE job = old.seq;
END;
CREATE TRIGGER job_ended AFTER UPDATE OF record ON jobs WHEN length(new.record) > 0 BEGIN
  DELETE FROM checkpoints WHERE job = new.seq;
END;
)sql";

// Events are numbered separately for each owner, so that a number says nothing about other owners.
constexpr const char* sandbox_schema = R"sql(
CREATE TABLE sandboxes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  ended INTEGER,
  record BLOB NOT NULL);
CREATE TABLE sandbox_events (
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  sandbox TEXT NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  request TEXT NOT NULL,
  detail TEXT NOT NULL,
  PRIMARY KEY (owner, number)) WITHOUT ROWID;
CREATE INDEX sandbox_events_by_sandbox ON sandbox_events (sandbox, number);
)sql";

// `cursor` is the number of the last event that needs no more delivery.
constexpr const char* webhook_schema = R"sql(
CREATE TABLE webhooks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  created INTEGER NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  secret TEXT NOT NULL,
  former_secret TEXT,
  former_until INTEGER,
  disabled TEXT NOT NULL,
  cursor INTEGER NOT NULL,
  missed INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  failing_since INTEGER,
  next_try INTEGER,
  last_at INTEGER,
  last_event TEXT NOT NULL,
  last_status INTEGER NOT NULL,
  last_error TEXT NOT NULL);
)sql";

constexpr const char* volume_schema = R"sql(
CREATE TABLE volumes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  created INTEGER NOT NULL,
  name TEXT NOT NULL,
  size_mb INTEGER NOT NULL,
  state INTEGER NOT NULL,
  used_bytes INTEGER NOT NULL,
  files INTEGER NOT NULL);
)sql";

// Adds what a file of version 1 lacks, except checkpoints. A new column comes behind the others, as
// in the schema. The times of version 1 are in milliseconds.
constexpr const char* from_version_1 = R"sql(
UPDATE jobs SET created = created * 1000, finished = finished * 1000;
ALTER TABLE jobs ADD COLUMN kind TEXT NOT NULL DEFAULT 'code';
)sql";

constexpr const char* without_version_2 = R"sql(
DROP TRIGGER job_dropped;
DROP TRIGGER job_ended;
ALTER TABLE checkpoints RENAME TO old_checkpoints;
)sql";

constexpr const char* to_version_3 = R"sql(
ALTER TABLE jobs ADD COLUMN record BLOB NOT NULL DEFAULT x'';
)sql";

constexpr const char* unread =
    "what an older version of the server stored of its result cannot be read";

Result<void> keep_record(Database& database, std::int64_t job, const Result<std::string>& record,
                         const std::string& answer) {
  auto update = database.prepare(
      "UPDATE jobs SET record = ?, bytes = bytes - length(CAST(? AS BLOB)) + ?,"
      " error = iif(?, error, ?) WHERE seq = ?");
  if (!update) return update.error();
  const std::string kept = record ? *record : std::string();
  update->blob(kept).text(answer).integer(static_cast<std::int64_t>(kept.size()));
  update->integer(record.has_value() ? 1 : 0).text(unread).integer(job);
  return update->run();
}

// Converts one row at a time: all together may be larger than the memory.
Result<void> convert_results(Database& database, const ReadOldAnswer& read_old_answer) {
  std::int64_t job = -1;
  for (;;) {
    auto next = database.prepare(
        "SELECT seq, kind, result FROM jobs WHERE seq > ? AND result <> '' ORDER BY seq LIMIT 1");
    if (!next) return next.error();
    const auto row = next->integer(job).step();
    if (!row) return row.error();
    if (!*row) return {};
    job = next->integer_at(0);
    const auto kind = next->text_at(1) == "task" ? OldAnswer::task : OldAnswer::program;
    const std::string answer = next->text_at(2);
    const auto record = read_old_answer(kind, answer);
    if (auto done = keep_record(database, job, record, answer); !done) return done;
  }
}

Result<void> convert_checkpoints(Database& database, const ReadOldAnswer& read_old_answer) {
  auto old =
      database.prepare("SELECT job, place, document FROM old_checkpoints ORDER BY job, place");
  if (!old) return old.error();
  for (;;) {
    const auto row = old->step();
    if (!row) return row.error();
    if (!*row) return {};
    const auto record = read_old_answer(OldAnswer::attempt, old->text_at(2));
    if (!record) continue;
    auto insert = database.prepare("INSERT INTO checkpoints (job, place, record) VALUES (?, ?, ?)");
    if (!insert) return insert.error();
    insert->integer(old->integer_at(0)).integer(old->integer_at(1)).blob(*record);
    if (auto done = insert->run(); !done) return done;
  }
}

Result<void> to_records(Database& database, std::int64_t version,
                        const ReadOldAnswer& read_old_answer) {
  const bool had_checkpoints = version >= 2;
  std::string before = had_checkpoints ? without_version_2 : from_version_1;
  before += to_version_3;
  if (auto done = database.run(before); !done) return done;
  if (auto done = convert_results(database, read_old_answer); !done) return done;
  if (auto done = database.run(checkpoint_schema); !done) return done;
  if (had_checkpoints) {
    if (auto done = convert_checkpoints(database, read_old_answer); !done) return done;
    if (auto done = database.run("DROP TABLE old_checkpoints"); !done) return done;
  }
  return database.run("ALTER TABLE jobs DROP COLUMN result");
}

}  // namespace

Result<void> make_job_tables(Database& database, const ReadOldAnswer& read_old_answer) {
  const std::string all =
      std::string(schema) + checkpoint_schema + sandbox_schema + webhook_schema + volume_schema;
  const auto version = database.make_tables({.application_id = application_id,
                                             .oldest_version = 1,
                                             .version = schema_version,
                                             .schema = all.c_str()});
  if (!version) return version.error();
  if (*version == schema_version) return {};
  if (*version < first_version_with_records) {
    if (!read_old_answer) {
      return jail::Error{
          jail::ErrorKind::unsupported, "it holds tables of an older version", 0, {}};
    }
    if (auto done = to_records(database, *version, read_old_answer); !done) return done;
  }
  std::string lacking = *version < first_version_with_sandboxes ? sandbox_schema : "";
  lacking += *version < first_version_with_webhooks ? webhook_schema : "";
  lacking += volume_schema;
  return database.run(lacking + "PRAGMA user_version=" + std::to_string(schema_version));
}

}  // namespace runtime
