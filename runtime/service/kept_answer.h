// Reproduces the answer that the caller of a job got, from the record of the job.
#pragma once

#include <optional>
#include <string>

#include "jail/result.h"
#include "runtime/store/job_record.h"

namespace runtime {

// Returns JSON, as encode_result() and encode_task() write it; std::nullopt while there is no
// result. Errors: those of decode_program() and decode_task().
jail::Result<std::optional<std::string>> kept_answer(const JobRecord& job);

// Returns the attempts at a task that has no result (yet): a JSON array, in the form of
// TaskResult::history. Returns std::nullopt for every other job. Errors: those of decode_attempt().
jail::Result<std::optional<std::string>> kept_history(const JobRecord& job);

}  // namespace runtime
