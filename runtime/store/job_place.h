// The place where jobs are kept, and the fallback where that place cannot be used.
#pragma once

#include <optional>
#include <string>

#include "runtime/config/environment.h"
#include "runtime/observe/logger.h"
#include "runtime/store/database_place.h"
#include "runtime/store/job_table.h"

namespace runtime {

// jobs.sqlite in $STATE_DIRECTORY (systemd's), else in agent-sandbox of $XDG_STATE_HOME, else of
// ~/.local/state; std::nullopt where none of them is set.
std::optional<std::string> usual_jobs_path(const Environment& environment);

// Files of older versions are read with `read_old_answer` (JobTable::open()). `configured` must
// work: an operator who named a file counts on it, so any problem with it is an error. The usual
// place may fail: a damaged file is set aside, and where nothing can be written, or another server
// holds the file, jobs are kept in memory; the log reports it.
jail::Result<JobTable> open_job_table(const std::optional<std::string>& configured,
                                      const std::optional<std::string>& usual, JobBounds bounds,
                                      const ReadOldAnswer& read_old_answer, Logger& logger);

}  // namespace runtime
