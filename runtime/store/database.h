// SQLite with errors as values. No other code uses SQLite's C interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "jail/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace runtime {

// The compiled statements of a database that nobody uses at the moment, by their text.
class IdleStatements;

// One prepared statement. Its parameters are bound from the first to the last, then it is stepped.
// Must be destroyed by the thread that uses its database.
class Statement {
 public:
  Statement& text(std::string_view value);
  Statement& blob(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& number(double value);
  Statement& null();

  // Returns true where there is a row, false where the statement is done.
  jail::Result<bool> step();
  // For a statement without rows, or whose rows are not needed.
  jail::Result<void> run();

  // The columns of the row, from 0. Null is read as empty or as 0.
  std::string text_at(int column) const;
  std::string blob_at(int column) const;
  std::int64_t integer_at(int column) const;
  double number_at(int column) const;
  bool null_at(int column) const;

 private:
  friend class Database;
  struct GiveBack {
    void operator()(sqlite3_stmt* statement) const;
    std::shared_ptr<IdleStatements> idle;
  };
  Statement(sqlite3_stmt* statement, std::shared_ptr<IdleStatements> idle)
      : statement_(statement, GiveBack{std::move(idle)}) {}

  std::unique_ptr<sqlite3_stmt, GiveBack> statement_;
  int bound_ = 0;
};

// The marks by which a file is recognized as one of ours.
struct TableFormat {
  std::int64_t application_id;
  std::int64_t oldest_version;  // the oldest that is still read
  std::int64_t version;         // the one that `schema` makes
  const char* schema;           // SQL; ends with a semicolon
};

// Must be used by one thread at a time.
class Database {
 public:
  // ":memory:" keeps everything in memory. Throws std::runtime_error where there is no SQLite.
  // Errors, here and below: ErrorKind::refused where another process holds the file, invalid where
  // it is damaged or no database, exhausted where the disk is full, else kernel.
  static jail::Result<Database> open(const std::string& path);

  // Whether what is in it goes with this process.
  bool is_in_memory() const;
  jail::Result<void> run(const std::string& sql);
  // Compiles a text once: to do so takes longer than to run most statements.
  jail::Result<Statement> prepare(std::string_view sql);
  // The first column of the first row.
  jail::Result<std::int64_t> number(std::string_view sql);
  // Returns the version of the tables in the file, which are made where the file is empty.
  // ErrorKind::unsupported where they are another program's or of a version that is not read.
  jail::Result<std::int64_t> make_tables(const TableFormat& format);
  // Does all of `work` or nothing of it.
  jail::Result<void> transaction(const std::function<jail::Result<void>()>& work);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle);
  jail::Result<void> run_again(std::string_view sql);

  std::unique_ptr<sqlite3, Close> handle_;
  std::shared_ptr<IdleStatements> idle_;
};

}  // namespace runtime
