// The tables of jobs in a file, and the migration of older versions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jail/result.h"
#include "runtime/store/database.h"

namespace runtime {

// Up to version 2 a file held, for each program and task, the JSON answer that its caller got, and
// the same for each attempt at a task without a result.
enum class OldAnswer : std::uint8_t { program, task, attempt };

// Converts such an answer to the record that is kept today. An error concerns the answer alone: its
// job then has no record, and says so.
using ReadOldAnswer =
    std::function<jail::Result<std::string>(OldAnswer kind, const std::string& answer)>;

// Makes the tables where the file is new or empty, and migrates those of an older version. Must be
// called within a transaction, so that a file has one version or the next, never one in between.
// Errors: those of Database, and ErrorKind::unsupported for a file of another program or version.
jail::Result<void> make_job_tables(Database& database, const ReadOldAnswer& read_old_answer);

}  // namespace runtime
