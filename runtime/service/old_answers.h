// What callers are answered with, read again: versions before the records of records.h kept it of a
// job, and commands that ask a server get it.
#pragma once

#include <string>

#include "jail/result.h"
#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "runtime/sandbox/run_result.h"
#include "runtime/store/job_table.h"

namespace runtime {

// Returns encode_record()'s record for such an answer. What an answer did not contain gets its
// default: the bytes of a text that was not UTF-8, and which kind of time a program used up before
// there were outcomes. Errors: ErrorKind::invalid for a text that is not a JSON object.
jail::Result<std::string> record_of_old_answer(OldAnswer kind, const std::string& answer);

// What an answer of this or of an earlier version says of a program, as values. Output is as it
// stands in the answer, in whichever encoding.
RunResult result_of_answer(const json::Value& answer);
// The same of a task.
agent::TaskResult result_of_task_answer(const json::Value& answer);

}  // namespace runtime
