// The table of lessons in its database, and the index of their words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jail/result.h"
#include "runtime/agent/lessons.h"
#include "runtime/store/database.h"

namespace runtime::lessons {

struct LessonBounds {
  std::uint32_t kept = 2000;        // lessons of all owners together
  std::uint32_t of_an_owner = 500;  // lessons of one owner, so that none pushes out those of all
                                    // others
};

// Longer texts are cut.
inline constexpr std::size_t max_task_text = 2048;
inline constexpr std::size_t max_error_text = 1024;
inline constexpr std::size_t max_advice_text = 2048;
inline constexpr std::size_t max_code_text = 8192;

inline constexpr std::uint32_t max_listed = 1000;

// Returns `lesson` with its texts cut to the bounds.
agent::Lesson bounded(agent::Lesson lesson);

// Equal for lessons that say the same about the same task.
std::string digest_of(const agent::Lesson& lesson);

// Must be used by one thread at a time; other processes may have the same file open. Errors are
// Database's.
class LessonTable {
 public:
  static jail::Result<LessonTable> open(const std::string& path, LessonBounds bounds);

  jail::Result<std::vector<agent::Lesson>> recall(const std::string& owner, const std::string& task,
                                                  std::uint32_t limit);
  // Adds the lesson. Beyond the bounds the lessons that were seen least are dropped, the oldest of
  // them first; never this one.
  jail::Result<void> learn(const std::string& owner, agent::Lesson lesson);
  // Errors: those of Database, and ErrorKind::invalid with "cursor: ..." for a cursor that was not
  // given out.
  jail::Result<agent::LessonPage> list(const std::string& owner, std::uint32_t limit,
                                       const std::optional<std::string>& cursor);
  // Afterwards nothing of it is left in the file, its index or its log.
  jail::Result<std::uint64_t> erase(const std::string& owner, const std::optional<std::string>& id);

 private:
  LessonTable(Database database, LessonBounds bounds)
      : database_(std::move(database)), bounds_(bounds) {}
  jail::Result<void> set_up();
  jail::Result<void> make_tables();
  jail::Result<void> keep(const std::string& owner, const agent::Lesson& lesson);
  jail::Result<void> trim(const std::string& owner, const std::string& digest);
  jail::Result<void> drop_beyond(std::uint32_t bound, const std::optional<std::string>& owner,
                                 const std::string& kept_digest);
  jail::Result<std::vector<std::int64_t>> those_with_enough(const std::string& owner,
                                                            const std::vector<std::string>& words);

  Database database_;
  LessonBounds bounds_;
};

}  // namespace runtime::lessons
