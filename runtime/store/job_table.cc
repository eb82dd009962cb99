#include "runtime/store/job_table.h"

#include <charconv>
#include <string_view>

#include "runtime/store/stored_time.h"

namespace runtime {
namespace {

using jail::Result;

// The cost of a row beside its record.
constexpr std::uint64_t row_bytes = 512;
constexpr const char* restarted = "the server ended before the result was stored";
constexpr const char* restarted_task = "the server ended before the task did";

// For the current row of `jobs`.
constexpr const char* checkpoint_bytes =
    "(SELECT coalesce(sum(length(record) + 1), 0) FROM checkpoints"
    " WHERE job = jobs.seq)";

constexpr const char* summary_columns =
    "id, status, language, code_sha256, created, finished, execution_time_ms, error, kind";

JobSummary summary_of(const Statement& row) {
  JobSummary summary;
  summary.id = row.text_at(0);
  summary.status = row.text_at(1);
  summary.language = row.text_at(2);
  summary.code_sha256 = row.text_at(3);
  summary.created = from_microseconds(row.integer_at(4));
  if (!row.null_at(5)) summary.finished = from_microseconds(row.integer_at(5));
  if (!row.null_at(6)) summary.execution_time_ms = row.number_at(6);
  summary.error = row.text_at(7);
  summary.kind = row.text_at(8);
  return summary;
}

// The start of the next page: the time and id of the last job shown. Both stay valid when that job
// is gone, and neither reveals how many jobs others have.
struct Position {
  std::int64_t created = 0;
  std::string id;
};

std::optional<Position> position_of(std::string_view cursor) {
  Position position;
  const std::size_t dot = cursor.find('.');
  if (dot == cursor.npos || cursor.size() > 64) return std::nullopt;
  const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + dot, position.created);
  if (error != std::errc() || end != cursor.data() + dot || dot + 1 == cursor.size()) {
    return std::nullopt;
  }
  position.id = cursor.substr(dot + 1);
  return position;
}

}  // namespace

bool is_job_cursor(const std::string& cursor) { return position_of(cursor).has_value(); }

Result<JobTable> JobTable::open(const std::string& path, JobBounds bounds,
                                const ReadOldAnswer& read_old_answer) {
  auto database = Database::open(path);
  if (!database) return database.error();
  JobTable table(std::move(*database), bounds);
  table.is_in_file_ = path != ":memory:";
  if (auto done = table.set_up(read_old_answer); !done) return done.error();
  return table;
}

Result<void> JobTable::set_up(const ReadOldAnswer& read_old_answer) {
  // The lock is exclusive: a second server on the same file is refused, and does not make our
  // running jobs fail. With a write-ahead log a commit is one write, and waits for the disk only if
  // it is configured to; a commit survives SIGKILL.
  const std::string synchronous = bounds_.durable ? "FULL" : "NORMAL";
  const std::string pragmas =
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
      "PRAGMA secure_delete=FAST; PRAGMA journal_size_limit=16777216;"
      "PRAGMA synchronous=" +
      synchronous;
  if (auto done = database_.run(pragmas); !done) return done;
  const auto make = [&] { return make_job_tables(database_, read_old_answer); };
  if (auto done = transaction(make); !done) return done;
  if (auto done = read_salt(); !done) return done;
  if (auto done = fail_running(); !done) return done;
  if (auto done = count(); !done) return done;
  return transaction([this] { return trim(); });
}

Result<void> JobTable::read_salt() {
  auto statement = database_.prepare("SELECT value FROM settings WHERE name = 'salt'");
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  salt_ = statement->text_at(0);
  if (salt_.size() == 64) return {};
  return jail::Error{jail::ErrorKind::invalid, "its salt is missing", 0, {}};
}

Result<void> JobTable::fail_running() {
  const auto found = database_.number("SELECT count(*) FROM jobs WHERE status = 'running'");
  if (!found) return found.error();
  found_running_ = static_cast<std::uint32_t>(*found);
  auto statement = database_.prepare(
      "UPDATE jobs SET status = ?, error = CASE kind WHEN 'task' THEN ? ELSE ? END, finished = ?,"
      " bytes = ? + " +
      std::string(checkpoint_bytes) + " WHERE status = 'running'");
  if (!statement) return statement.error();
  statement->text(job_failed).text(restarted_task).text(restarted);
  statement->integer(to_microseconds(std::chrono::system_clock::now())).integer(row_bytes);
  return statement->run();
}

Result<void> JobTable::count() {
  auto statement = database_.prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM jobs");
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  finished_ = static_cast<std::uint64_t>(statement->integer_at(0));
  bytes_ = static_cast<std::uint64_t>(statement->integer_at(1));
  return {};
}

Result<void> JobTable::insert(const JobStart& start) {
  auto statement = database_.prepare(
      "INSERT INTO jobs (id, owner, status, language, code_sha256, created, kind)"
      " VALUES (?, ?, ?, ?, ?, ?, ?)");
  if (!statement) return statement.error();
  statement->text(start.id).text(start.owner).text(job_running).text(start.language);
  statement->text(start.code_sha256).integer(to_microseconds(start.created)).text(start.kind);
  return statement->run();
}

Result<void> JobTable::checkpoint(const std::string& id, std::size_t place,
                                  const std::string& record) {
  auto statement = database_.prepare(
      "INSERT OR REPLACE INTO checkpoints (job, place, record)"
      " SELECT seq, ?1, ?2 FROM jobs WHERE id = ?3 AND status = 'running'");
  if (!statement) return statement.error();
  statement->integer(static_cast<std::int64_t>(place)).blob(record).text(id);
  return statement->run();
}

Result<void> JobTable::finish(const std::string& id, const JobEnd& end) {
  auto statement = database_.prepare(
      "UPDATE jobs SET status = ?1, finished = ?2, execution_time_ms = ?3, error = ?4, record = ?5,"
      " bytes = ?6 + iif(length(?5) = 0, " +
      std::string(checkpoint_bytes) +
      ", length(?5))"
      " WHERE id = ?7 AND status = 'running' RETURNING bytes");
  if (!statement) return statement.error();
  statement->text(end.status).integer(to_microseconds(end.finished));
  end.execution_time_ms ? statement->number(*end.execution_time_ms) : statement->null();
  statement->text(end.error).blob(end.record).integer(row_bytes).text(id);
  const auto found = statement->step();
  if (!found) return found.error();
  if (!*found) return {};
  const auto bytes = static_cast<std::uint64_t>(statement->integer_at(0));
  if (const auto done = statement->step(); !done) return done.error();
  ++finished_;
  bytes_ += bytes;
  return trim();
}

Result<void> JobTable::trim() {
  while (finished_ > bounds_.kept || bytes_ > bounds_.max_bytes) {
    auto statement = database_.prepare(
        "DELETE FROM jobs WHERE seq = (SELECT seq FROM jobs WHERE status <> 'running'"
        " ORDER BY seq LIMIT 1) RETURNING bytes");
    if (!statement) return statement.error();
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return count();  // no row is left: the counts were wrong
    --finished_;
    bytes_ -= static_cast<std::uint64_t>(statement->integer_at(0));
    if (const auto done = statement->step(); !done) return done.error();
  }
  return {};
}

Result<void> JobTable::remove(const std::string& id) {
  auto statement = database_.prepare("DELETE FROM jobs WHERE id = ? AND status = 'running'");
  if (!statement) return statement.error();
  statement->text(id);
  return statement->run();
}

Result<std::optional<JobRecord>> JobTable::find(const std::string& id,
                                                const std::optional<std::string>& owner) {
  auto statement = database_.prepare("SELECT " + std::string(summary_columns) +
                                     ", record, seq FROM jobs WHERE id = ?1"
                                     " AND (?2 IS NULL OR owner = ?2)");
  if (!statement) return statement.error();
  statement->text(id);
  owner ? statement->text(*owner) : statement->null();
  const auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return std::optional<JobRecord>();
  JobRecord record;
  record.summary = summary_of(*statement);
  record.record = statement->blob_at(9);
  if (record.record.empty()) {
    auto checkpoints = checkpoints_of(statement->integer_at(10));
    if (!checkpoints) return checkpoints.error();
    record.checkpoints = std::move(*checkpoints);
  }
  return std::optional<JobRecord>(std::move(record));
}

Result<std::vector<std::string>> JobTable::checkpoints_of(std::int64_t job) {
  auto statement = database_.prepare("SELECT record FROM checkpoints WHERE job = ? ORDER BY place");
  if (!statement) return statement.error();
  statement->integer(job);
  std::vector<std::string> records;
  for (;;) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return records;
    records.push_back(statement->blob_at(0));
  }
}

Result<JobPage> JobTable::list(const JobQuery& query) {
  auto statement = database_.prepare(
      "SELECT " + std::string(summary_columns) +
      " FROM jobs WHERE (?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR status = ?2)"
      " AND (?3 IS NULL OR (created, id) < (?3, ?4)) ORDER BY created DESC, id DESC LIMIT ?5");
  if (!statement) return statement.error();
  query.owner ? statement->text(*query.owner) : statement->null();
  query.status ? statement->text(*query.status) : statement->null();
  if (query.cursor) {
    const auto position = position_of(*query.cursor);
    if (!position) {
      return jail::Error{jail::ErrorKind::invalid, "cursor: expected a next_cursor", 0, {}};
    }
    statement->integer(position->created).text(position->id);
  } else {
    statement->null().null();
  }
  statement->integer(std::int64_t{query.limit} + 1);
  JobPage page;
  for (;;) {
    const auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return page;
    if (page.jobs.size() == query.limit) {
      const JobSummary& last = page.jobs.back();
      page.next_cursor = std::to_string(to_microseconds(last.created)) + "." + last.id;
      return page;
    }
    page.jobs.push_back(summary_of(*statement));
  }
}

Result<void> JobTable::transaction(const std::function<Result<void>()>& work) {
  const std::uint64_t finished = finished_;
  const std::uint64_t bytes = bytes_;
  auto done = database_.transaction(work);
  if (done) return done;
  finished_ = finished;
  bytes_ = bytes;
  return done;
}

}  // namespace runtime
