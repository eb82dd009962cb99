// The tables of jobs in a file, and how those of an older version become those of today's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jail/result.h"
#include "runtime/store/database.h"

namespace runtime {

// Up to version 2 a file held, of each program and task, the JSON that its caller was answered
// with, and the same of each attempt at a task that has no result yet.
enum class OldAnswer : std::uint8_t { program, task, attempt };

// The record that is kept today in place of such an answer. An error is the answer's own: its job
// then has no record, and says so.
using ReadOldAnswer =
    std::function<jail::Result<std::string>(OldAnswer kind, const std::string& answer)>;

// Makes the tables where the file is new or empty, and brings those of an older version up to date:
// within a transaction of the caller's, so that a file is of one version or of the next, never
// between. Errors are Database's, and ErrorKind::unsupported for a file of another program or
// version.
jail::Result<void> make_job_tables(Database& database, const ReadOldAnswer& read_old_answer);

}  // namespace runtime
