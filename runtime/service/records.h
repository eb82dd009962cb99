// What is kept of a job that has ended, as values, and as the bytes that the store keeps.
//
// The bytes are of a format of their own, so that a record outlives every change of what an API
// answers. They are read on any host, and by later versions: see record_fields.h.
#pragma once

#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/agent/task.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/sandbox/run_result.h"

namespace runtime {

struct ProgramRecord {
  RunResult result;
  OutputEncoding encoding = OutputEncoding::utf8;  // that its caller asked for
};

std::string encode_record(const ProgramRecord& record);
// Without TaskResult::host_error, which may name paths of the host.
std::string encode_record(const agent::TaskResult& result);
std::string encode_record(const agent::Attempt& attempt);

// Errors: ErrorKind::invalid for bytes that encode_record() did not write for this type,
// unsupported for those of a later format.
jail::Result<ProgramRecord> decode_program(std::string_view bytes);
jail::Result<agent::TaskResult> decode_task(std::string_view bytes);
jail::Result<agent::Attempt> decode_attempt(std::string_view bytes);

}  // namespace runtime
