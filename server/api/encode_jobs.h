// Jobs as JSON text.
#pragma once

#include <string>
#include <string_view>

#include "jail/result.h"
#include "runtime/store/job_record.h"

namespace server {

std::string encode_jobs(const runtime::JobPage& page);
// Errors: those of runtime::kept_answer().
jail::Result<std::string> encode_job(const runtime::JobRecord& record);
std::string encode_cancelling(std::string_view id);

}  // namespace server
