// What versions before the records of records.h kept of a job: the JSON that its caller was
// answered with.
#pragma once

#include <string>

#include "jail/result.h"
#include "runtime/store/job_table.h"

namespace runtime {

// The record of encode_record() for such an answer. What an answer did not say has its default: the
// bytes of a text that was no UTF-8, which kind of time a program used up before outcomes were
// told. Errors: ErrorKind::invalid for what is no JSON object.
jail::Result<std::string> record_of_old_answer(OldAnswer kind, const std::string& answer);

}  // namespace runtime
