#include "runtime/store/database.h"

#include <sqlite3.h>

#include <cstddef>
#include <map>

namespace runtime {
namespace {

// A server that is just ending may hold the file for a moment.
constexpr int busy_milliseconds = 1000;

jail::Error error_of(sqlite3* handle, int code) {
  const int extended = handle == nullptr ? code : sqlite3_extended_errcode(handle);
  const std::string text = handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle);
  jail::ErrorKind kind = jail::ErrorKind::kernel;
  switch (extended & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      kind = jail::ErrorKind::refused;
      break;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      kind = jail::ErrorKind::invalid;
      break;
    case SQLITE_FULL:
      kind = jail::ErrorKind::exhausted;
      break;
    default:
      break;
  }
  const int system = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  return {kind, "sqlite: " + text, kind == jail::ErrorKind::kernel ? system : 0, {}};
}

}  // namespace

class IdleStatements {
 public:
  IdleStatements() = default;
  IdleStatements(const IdleStatements&) = delete;
  ~IdleStatements() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  }

  // Null where there is none.
  sqlite3_stmt* take(std::string_view sql) {
    const auto found = statements_.find(sql);
    if (found == statements_.end()) return nullptr;
    sqlite3_stmt* const statement = found->second;
    statements_.erase(found);
    return statement;
  }

  void keep(sqlite3_stmt* statement) {
    // What the last step failed with has been said then.
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    const bool is_kept = statements_.size() < max_statements &&
                         statements_.try_emplace(sqlite3_sql(statement), statement).second;
    if (!is_kept) sqlite3_finalize(statement);
  }

 private:
  // More than the programs here have; texts that are put together anew each time are no more.
  static constexpr std::size_t max_statements = 64;

  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const { idle->keep(statement); }

// A value that could not be bound (out of memory) stays null, which the columns refuse.
Statement& Statement::text(std::string_view value) {
  sqlite3_bind_text64(statement_.get(), ++bound_, value.data() == nullptr ? "" : value.data(),
                      value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  sqlite3_bind_blob64(statement_.get(), ++bound_, value.data() == nullptr ? "" : value.data(),
                      value.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::number(double value) {
  sqlite3_bind_double(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

jail::Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite3_db_handle(statement_.get()), code);
}

jail::Result<void> Statement::run() {
  const auto row = step();
  if (!row) return row.error();
  return {};
}

std::string Statement::text_at(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes)};
}

std::string Statement::blob_at(int column) const {
  const auto* bytes = sqlite3_column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::int64_t Statement::integer_at(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::number_at(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

bool Statement::null_at(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Database::Database(sqlite3* handle) : handle_(handle), idle_(std::make_shared<IdleStatements>()) {}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

jail::Result<Database> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return error_of(handle, code);
  sqlite3_busy_timeout(handle, busy_milliseconds);
  return database;
}

bool Database::is_in_memory() const {
  const char* const file = sqlite3_db_filename(handle_.get(), "main");
  return file == nullptr || *file == '\0';
}

jail::Result<void> Database::run(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(handle_.get(), code);
  return {};
}

jail::Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = idle_->take(sql);
  if (statement != nullptr) return Statement(statement, idle_);
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return error_of(handle_.get(), code);
  return Statement(statement, idle_);
}

jail::Result<void> Database::run_again(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  return statement->run();
}

jail::Result<std::int64_t> Database::number(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  const auto row = statement->step();
  if (!row) return row.error();
  return statement->integer_at(0);
}

jail::Result<std::int64_t> Database::make_tables(const TableFormat& format) {
  const auto owner = number("PRAGMA application_id");
  if (!owner) return owner.error();
  const auto version = number("PRAGMA user_version");
  if (!version) return version.error();
  const auto tables = number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return tables.error();
  if (*tables == 0) {
    auto made =
        run(format.schema + ("PRAGMA application_id=" + std::to_string(format.application_id)) +
            ";PRAGMA user_version=" + std::to_string(format.version));
    if (!made) return made.error();
    return format.version;
  }
  if (*owner != format.application_id || *version < format.oldest_version ||
      *version > format.version) {
    return jail::Error{jail::ErrorKind::unsupported,
                       "it holds tables of another program or another version",
                       0,
                       {}};
  }
  return *version;
}

jail::Result<void> Database::transaction(const std::function<jail::Result<void>()>& work) {
  if (auto begun = run_again("BEGIN IMMEDIATE"); !begun) return begun;
  auto done = work();
  if (done) done = run_again("COMMIT");
  // Some errors have rolled back by themselves; then this ROLLBACK fails, which changes nothing.
  if (!done) static_cast<void>(run("ROLLBACK").has_value());
  return done;
}

}  // namespace runtime
