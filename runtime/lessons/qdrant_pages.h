// The cursor between two pages of lessons in Qdrant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/lessons.h"
#include "runtime/lessons/qdrant_requests.h"

namespace runtime::lessons::qdrant {

// Returns whether the id has the form of our points' ids. Only such ids are put into a request.
bool is_point_id(std::string_view id);

// Points are ordered by time alone. Those that were given out and have the last time are excluded
// by their ids, so that other points of that time are not lost between two pages.
struct PageEnd {
  std::int64_t learnt = 0;         // microseconds
  std::vector<std::string> given;  // empty: no more points of that time are wanted
};

// Parses "1754000000000000.ID.ID"; returns std::nullopt for a cursor that was not given out.
std::optional<PageEnd> read_cursor(std::string_view cursor);

// `lessons` is the page that follows `before`; it must not be empty.
std::string cursor_after(const std::optional<PageEnd>& before,
                         const std::vector<agent::Lesson>& lessons);

void go_on_after(const PageEnd& end, Filter& filter);

}  // namespace runtime::lessons::qdrant
