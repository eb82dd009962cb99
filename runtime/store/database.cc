#include "runtime/store/database.h"

#include <sqlite3.h>

#include <cstddef>
#include <map>

#include "runtime/loader/late_library.h"

namespace runtime {
namespace {

// SQLite's functions, by their names without `sqlite3_`.
struct Sqlite {
  LateLibrary library{"libsqlite3.so.0", "install SQLite 3 (Debian: libsqlite3-0)"};
  decltype(&::sqlite3_bind_blob64) bind_blob64 = library.function("sqlite3_bind_blob64");
  decltype(&::sqlite3_bind_double) bind_double = library.function("sqlite3_bind_double");
  decltype(&::sqlite3_bind_int64) bind_int64 = library.function("sqlite3_bind_int64");
  decltype(&::sqlite3_bind_null) bind_null = library.function("sqlite3_bind_null");
  decltype(&::sqlite3_bind_text64) bind_text64 = library.function("sqlite3_bind_text64");
  decltype(&::sqlite3_busy_timeout) busy_timeout = library.function("sqlite3_busy_timeout");
  decltype(&::sqlite3_clear_bindings) clear_bindings = library.function("sqlite3_clear_bindings");
  decltype(&::sqlite3_close_v2) close_v2 = library.function("sqlite3_close_v2");
  decltype(&::sqlite3_column_blob) column_blob = library.function("sqlite3_column_blob");
  decltype(&::sqlite3_column_bytes) column_bytes = library.function("sqlite3_column_bytes");
  decltype(&::sqlite3_column_double) column_double = library.function("sqlite3_column_double");
  decltype(&::sqlite3_column_int64) column_int64 = library.function("sqlite3_column_int64");
  decltype(&::sqlite3_column_text) column_text = library.function("sqlite3_column_text");
  decltype(&::sqlite3_column_type) column_type = library.function("sqlite3_column_type");
  decltype(&::sqlite3_db_filename) db_filename = library.function("sqlite3_db_filename");
  decltype(&::sqlite3_db_handle) db_handle = library.function("sqlite3_db_handle");
  decltype(&::sqlite3_errmsg) errmsg = library.function("sqlite3_errmsg");
  decltype(&::sqlite3_errstr) errstr = library.function("sqlite3_errstr");
  decltype(&::sqlite3_exec) exec = library.function("sqlite3_exec");
  decltype(&::sqlite3_extended_errcode) extended_errcode =
      library.function("sqlite3_extended_errcode");
  decltype(&::sqlite3_finalize) finalize = library.function("sqlite3_finalize");
  decltype(&::sqlite3_open_v2) open_v2 = library.function("sqlite3_open_v2");
  decltype(&::sqlite3_prepare_v3) prepare_v3 = library.function("sqlite3_prepare_v3");
  decltype(&::sqlite3_reset) reset = library.function("sqlite3_reset");
  decltype(&::sqlite3_sql) sql = library.function("sqlite3_sql");
  decltype(&::sqlite3_step) step = library.function("sqlite3_step");
  decltype(&::sqlite3_system_errno) system_errno = library.function("sqlite3_system_errno");
};

// Loads SQLite at its first call. Throws std::runtime_error where it cannot. May be called from any
// thread.
const Sqlite& sqlite() {
  static const Sqlite loaded;
  return loaded;
}

// A server that is just ending may hold the file for a moment.
constexpr int busy_milliseconds = 1000;

jail::Error error_of(sqlite3* handle, int code) {
  const int extended = handle == nullptr ? code : sqlite().extended_errcode(handle);
  const std::string text = handle == nullptr ? sqlite().errstr(code) : sqlite().errmsg(handle);
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
  const int system = handle == nullptr ? 0 : sqlite().system_errno(handle);
  return {kind, "sqlite: " + text, kind == jail::ErrorKind::kernel ? system : 0, {}};
}

}  // namespace

class IdleStatements {
 public:
  IdleStatements() = default;
  IdleStatements(const IdleStatements&) = delete;
  ~IdleStatements() {
    for (const auto& [sql, statement] : statements_) sqlite().finalize(statement);
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
    sqlite().reset(statement);
    sqlite().clear_bindings(statement);
    const bool is_kept = statements_.size() < max_statements &&
                         statements_.try_emplace(sqlite().sql(statement), statement).second;
    if (!is_kept) sqlite().finalize(statement);
  }

 private:
  // More than the programs here have; texts that are put together anew each time are no more.
  static constexpr std::size_t max_statements = 64;

  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

void Statement::GiveBack::operator()(sqlite3_stmt* statement) const { idle->keep(statement); }

// A value that could not be bound (out of memory) stays null, which the columns refuse.
Statement& Statement::text(std::string_view value) {
  sqlite().bind_text64(statement_.get(), ++bound_, value.data() == nullptr ? "" : value.data(),
                       value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  sqlite().bind_blob64(statement_.get(), ++bound_, value.data() == nullptr ? "" : value.data(),
                       value.size(), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  sqlite().bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::number(double value) {
  sqlite().bind_double(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::null() {
  sqlite().bind_null(statement_.get(), ++bound_);
  return *this;
}

jail::Result<bool> Statement::step() {
  const int code = sqlite().step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error_of(sqlite().db_handle(statement_.get()), code);
}

jail::Result<void> Statement::run() {
  const auto row = step();
  if (!row) return row.error();
  return {};
}

std::string Statement::text_at(int column) const {
  const auto* text = sqlite().column_text(statement_.get(), column);
  if (text == nullptr) return {};
  const int bytes = sqlite().column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes)};
}

std::string Statement::blob_at(int column) const {
  const auto* bytes = sqlite().column_blob(statement_.get(), column);
  if (bytes == nullptr) return {};
  const int size = sqlite().column_bytes(statement_.get(), column);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::int64_t Statement::integer_at(int column) const {
  return sqlite().column_int64(statement_.get(), column);
}

double Statement::number_at(int column) const {
  return sqlite().column_double(statement_.get(), column);
}

bool Statement::null_at(int column) const {
  return sqlite().column_type(statement_.get(), column) == SQLITE_NULL;
}

Database::Database(sqlite3* handle) : handle_(handle), idle_(std::make_shared<IdleStatements>()) {}

void Database::Close::operator()(sqlite3* handle) const { sqlite().close_v2(handle); }

jail::Result<Database> Database::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite().open_v2(path.c_str(), &handle, flags, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return error_of(handle, code);
  sqlite().busy_timeout(handle, busy_milliseconds);
  return database;
}

bool Database::is_in_memory() const {
  const char* const file = sqlite().db_filename(handle_.get(), "main");
  return file == nullptr || *file == '\0';
}

jail::Result<void> Database::run(const std::string& sql) {
  const int code = sqlite().exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error_of(handle_.get(), code);
  return {};
}

jail::Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = idle_->take(sql);
  if (statement != nullptr) return Statement(statement, idle_);
  const int code = sqlite().prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
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
