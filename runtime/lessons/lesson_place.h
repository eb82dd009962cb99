// The place where lessons are kept, and the fallback where that place cannot be used.
#pragma once

#include <optional>
#include <string>

#include "runtime/config/config.h"
#include "runtime/config/environment.h"
#include "runtime/lessons/lesson_table.h"
#include "runtime/observe/logger.h"

namespace runtime::lessons {

// Returns lessons.sqlite beside the file of jobs; ":memory:" where the operator chose to keep jobs
// in memory; std::nullopt where there is no such place.
std::optional<std::string> usual_lessons_path(const Config& config, const Environment& environment);

// The configured bounds; one owner may have a quarter.
LessonBounds bounds_of(const Config& config);

// As with open_job_table(), `configured` must work; at the usual place a damaged file is set aside,
// and where nothing can be written lessons are kept in memory. The log reports both.
jail::Result<LessonTable> open_lesson_table(const std::optional<std::string>& configured,
                                            const std::optional<std::string>& usual,
                                            LessonBounds bounds, Logger& logger);

}  // namespace runtime::lessons
