// The lessons of a caller, to be listed or erased. The refusals: no lessons are kept; there is no
// such lesson, or it belongs to another owner; the store cannot be reached, in which case the log
// has the reason.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "runtime/agent/lessons.h"
#include "runtime/observe/logger.h"
#include "runtime/refusals/refusal.h"
#include "runtime/service/principal.h"

namespace runtime {

struct LessonQuery {
  std::uint32_t limit = 50;
  std::optional<std::string> cursor;  // LessonPage::next_cursor of the previous page
};

// `store` is null where no lessons are kept. The logger must outlive the calls.
struct LessonParts {
  agent::LessonStore* store;
  Logger& logger;
};

boost::asio::awaitable<std::variant<agent::LessonPage, Refusal>> list_lessons(LessonParts parts,
                                                                              Caller caller,
                                                                              LessonQuery query);

// Erases the lesson with this id, or all of the caller's. Returns how many were erased.
boost::asio::awaitable<std::variant<std::uint64_t, Refusal>> erase_lessons(
    LessonParts parts, Caller caller, std::optional<std::string> id);

}  // namespace runtime
