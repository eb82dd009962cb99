// Where lessons are kept, and what happens when that place is no good.
#pragma once

#include <optional>
#include <string>

#include "runtime/config/config.h"
#include "runtime/config/environment.h"
#include "runtime/lessons/lesson_table.h"
#include "runtime/observe/logger.h"

namespace runtime::lessons {

// lessons.sqlite beside the file of jobs, wherever that is; ":memory:" where jobs are kept in
// memory by wish; nothing where there is no such place.
std::optional<std::string> usual_lessons_path(const Config& config, const Environment& environment);

// As configured; an owner may have a quarter.
LessonBounds bounds_of(const Config& config);

// As open_job_table(): `configured` must work; at the usual place a damaged file is set aside, and
// where nothing can be written lessons are kept in memory. The log says so.
jail::Result<LessonTable> open_lesson_table(const std::optional<std::string>& configured,
                                            const std::optional<std::string>& usual,
                                            LessonBounds bounds, Logger& logger);

}  // namespace runtime::lessons
