// What the caller of a job was answered with, made again from what is kept of the job.
#pragma once

#include <optional>
#include <string>

#include "jail/result.h"
#include "runtime/store/job_record.h"

namespace runtime {

// JSON, as encode_result() and encode_task() write it; nothing while there is no result.
// Errors: those of decode_program() and decode_task().
jail::Result<std::optional<std::string>> kept_answer(const JobRecord& job);

// The attempts at a task that has no result (yet): a JSON array, as TaskResult::history is written.
// There is nothing for every other job. Errors: those of decode_attempt().
jail::Result<std::optional<std::string>> kept_history(const JobRecord& job);

}  // namespace runtime
