#include "runtime/lessons/qdrant_pages.h"

#include <charconv>

#include "runtime/store/stored_time.h"

namespace runtime::lessons::qdrant {

bool is_point_id(std::string_view id) {
  return id.size() == 36 && id.find_first_not_of("0123456789abcdef-") == id.npos;
}

std::optional<PageEnd> read_cursor(std::string_view cursor) {
  PageEnd end;
  const char* last = cursor.data() + cursor.size();
  const auto [rest, failed] = std::from_chars(cursor.data(), last, end.learnt);
  if (failed != std::errc() || end.learnt < 0) return std::nullopt;
  cursor.remove_prefix(static_cast<std::size_t>(rest - cursor.data()));
  while (!cursor.empty()) {
    const std::string_view id = cursor.substr(1, 36);
    if (cursor.front() != '.' || !is_point_id(id)) return std::nullopt;
    end.given.emplace_back(id);
    cursor.remove_prefix(1 + id.size());
  }
  return end;
}

std::string cursor_after(const std::optional<PageEnd>& before,
                         const std::vector<agent::Lesson>& lessons) {
  const std::int64_t learnt = to_microseconds(lessons.back().learnt);
  const std::string time = std::to_string(learnt);
  std::string ids;
  if (before && before->learnt == learnt) {
    for (const std::string& id : before->given) ids += "." + id;
  }
  for (const agent::Lesson& lesson : lessons) {
    if (to_microseconds(lesson.learnt) != learnt) continue;
    // A point that another program made cannot be excluded by its id, and would come again for
    // ever.
    if (!is_point_id(lesson.id)) return time;
    ids += "." + lesson.id;
  }
  return time + ids;
}

void go_on_after(const PageEnd& end, Filter& filter) {
  filter.must.push_back(learnt_until(end.given.empty() ? end.learnt - 1 : end.learnt));
  for (const std::string& id : end.given) filter.must_not.push_back(has_id(id));
}

}  // namespace runtime::lessons::qdrant
