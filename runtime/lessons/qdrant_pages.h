// Where one page of lessons in Qdrant ends and the next begins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/agent/lessons.h"
#include "runtime/lessons/qdrant_requests.h"

namespace runtime::lessons::qdrant {

// Of the form that we give to points. Only what has it is put into a request.
bool is_point_id(std::string_view id);

// Points are ordered by time alone. Those of the last time that were given out are left out by
// their ids, so that the others of that time are not lost between two pages.
struct PageEnd {
  std::int64_t learnt = 0;         // microseconds
  std::vector<std::string> given;  // empty: nothing more of that time is wanted
};

// "1754000000000000.ID.ID"; nothing: no such cursor was given out.
std::optional<PageEnd> read_cursor(std::string_view cursor);

// `lessons` are the page that came after `before`, and not empty.
std::string cursor_after(const std::optional<PageEnd>& before,
                         const std::vector<agent::Lesson>& lessons);

void go_on_after(const PageEnd& end, Filter& filter);

}  // namespace runtime::lessons::qdrant
