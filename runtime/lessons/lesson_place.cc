#include "runtime/lessons/lesson_place.h"

#include <algorithm>
#include <filesystem>

#include "runtime/store/database_place.h"
#include "runtime/store/job_place.h"

namespace runtime::lessons {
namespace {

using jail::Result;

constexpr const char* file_name = "lessons.sqlite";

Result<LessonTable> open_file(const std::string& path, LessonBounds bounds) {
  if (auto made = make_private_file(path); !made) return made.error();
  return LessonTable::open(path, bounds);
}

jail::Error about(const std::string& path, jail::Error error) {
  error.doing = "lessons in " + path + ": " + error.doing;
  if (error.kind == jail::ErrorKind::invalid) {
    error.hint = "move the file away, or set LESSONS_PATH to another";
  } else {
    error.hint = "set LESSONS_PATH to a file that this user may write, or LESSONS=off";
  }
  return error;
}

Result<LessonTable> open_usual(const std::string& path, LessonBounds bounds, Logger& logger) {
  make_private_directory(path);
  auto table = open_file(path, bounds);
  if (table || table.error().kind != jail::ErrorKind::invalid) return table;
  if (auto moved = set_aside(path); !moved) return moved.error();
  logger.warning("the file of lessons is damaged and was set aside",
                 {{"path", path + ".damaged"}, {"error", table.error().message()}});
  return open_file(path, bounds);
}

}  // namespace

std::optional<std::string> usual_lessons_path(const Config& config,
                                              const Environment& environment) {
  const auto jobs = config.jobs_path ? config.jobs_path : usual_jobs_path(environment);
  if (!jobs || *jobs == in_memory) return jobs;
  return (std::filesystem::path(*jobs).parent_path() / file_name).string();
}

LessonBounds bounds_of(const Config& config) {
  return {.kept = config.lessons_kept, .of_an_owner = std::max(1u, config.lessons_kept / 4)};
}

Result<LessonTable> open_lesson_table(const std::optional<std::string>& configured,
                                      const std::optional<std::string>& usual, LessonBounds bounds,
                                      Logger& logger) {
  if (configured) {
    auto table = open_file(*configured, bounds);
    if (!table) return about(*configured, table.error());
    return table;
  }
  if (usual) {
    auto table = open_usual(*usual, bounds, logger);
    if (table) return table;
    logger.warning("lessons are kept in memory and end with this process",
                   {{"reason", about(*usual, table.error()).message()}});
  } else {
    logger.warning("lessons are kept in memory and end with this process",
                   {{"reason", "neither STATE_DIRECTORY nor HOME is set"}});
  }
  return open_file(in_memory, bounds);
}

}  // namespace runtime::lessons
