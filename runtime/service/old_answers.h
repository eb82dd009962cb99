// The form in which versions before records.h kept a job: the JSON answer that its caller got.
#pragma once

#include <string>

#include "jail/result.h"
#include "runtime/store/job_table.h"

namespace runtime {

// Returns encode_record()'s record for such an answer. What an answer did not contain gets its
// default: the bytes of a text that was not UTF-8, and which kind of time a program used up before
// there were outcomes. Errors: ErrorKind::invalid for a text that is not a JSON object.
jail::Result<std::string> record_of_old_answer(OldAnswer kind, const std::string& answer);

}  // namespace runtime
