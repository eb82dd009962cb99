// SQLite with errors as values. The only user of its C interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jail/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace runtime {

// One prepared statement. Bound from its first parameter to its last, then stepped.
class Statement {
 public:
  Statement& text(std::string_view value);
  Statement& blob(std::string_view value);
  Statement& integer(std::int64_t value);
  Statement& number(double value);
  Statement& null();

  // True: a row is there; false: the statement is done.
  jail::Result<bool> step();
  // For one that has no rows, or whose rows nobody wants.
  jail::Result<void> run();

  // Columns of the row, from 0. Null reads as empty and as 0.
  std::string text_at(int column) const;
  std::string blob_at(int column) const;
  std::int64_t integer_at(int column) const;
  double number_at(int column) const;
  bool null_at(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

// By what a file is known as one of ours.
struct TableFormat {
  std::int64_t application_id;
  std::int64_t oldest_version;  // that is still read
  std::int64_t version;         // that `schema` makes
  const char* schema;           // SQL; ends with a semicolon
};

// For one thread at a time.
class Database {
 public:
  // ":memory:" keeps everything in memory. Errors, here and below: ErrorKind::refused where another
  // process holds the file, invalid where it is damaged or no database, exhausted where the disk is
  // full, else kernel.
  static jail::Result<Database> open(const std::string& path);

  jail::Result<void> run(const std::string& sql);
  jail::Result<Statement> prepare(std::string_view sql);
  // The first column of the first row.
  jail::Result<std::int64_t> number(std::string_view sql);
  // The version of the tables in the file, which are made where it is empty. ErrorKind::unsupported
  // where they are another program's or of a version that is not read.
  jail::Result<std::int64_t> make_tables(const TableFormat& format);
  // All of `work` or nothing of it.
  jail::Result<void> transaction(const std::function<jail::Result<void>()>& work);

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  explicit Database(sqlite3* handle) : handle_(handle) {}

  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace runtime
