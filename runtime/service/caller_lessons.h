// The lessons of a caller, for whoever looks at them or has them forgotten. The refusals: no
// lessons are kept; there is no such lesson, or it is another owner's; the store cannot be reached,
// and the log has the reason.
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
  std::optional<std::string> cursor;  // LessonPage::next_cursor of the page before
};

// What is needed. `store`: null where no lessons are kept. The logger outlives it.
struct LessonParts {
  agent::LessonStore* store;
  Logger& logger;
};

boost::asio::awaitable<std::variant<agent::LessonPage, Refusal>> list_lessons(LessonParts parts,
                                                                              Caller caller,
                                                                              LessonQuery query);

// How many are gone: the one with this id, or all of the caller's.
boost::asio::awaitable<std::variant<std::uint64_t, Refusal>> erase_lessons(
    LessonParts parts, Caller caller, std::optional<std::string> id);

}  // namespace runtime
