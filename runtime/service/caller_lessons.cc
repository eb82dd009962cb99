#include "runtime/service/caller_lessons.h"

#include <utility>

namespace runtime {
namespace {

Refusal no_lessons_kept() {
  return {.code = RefusalCode::lessons_off,
          .detail = "no lessons are kept here: they are switched off, or no provider is set"};
}

Refusal lessons_failed(const LessonParts& parts, const Caller& caller, const jail::Error& error) {
  parts.logger.error("lessons cannot be reached",
                     {{"request_id", caller.request_id}, {"error", error.message()}});
  return {.code = RefusalCode::internal_server_error,
          .detail =
              "lessons cannot be reached; the server's log has the reason under this "
              "request's id"};
}

}  // namespace

boost::asio::awaitable<std::variant<agent::LessonPage, Refusal>> list_lessons(LessonParts parts,
                                                                              Caller caller,
                                                                              LessonQuery query) {
  if (parts.store == nullptr) co_return no_lessons_kept();
  auto page =
      co_await parts.store->list(caller.principal.tenant, query.limit, std::move(query.cursor));
  if (page) co_return std::move(*page);
  if (page.error().kind == jail::ErrorKind::invalid) {
    co_return Refusal{.code = RefusalCode::bad_request,
                      .detail = "cursor: expected the next_cursor of another page"};
  }
  co_return lessons_failed(parts, caller, page.error());
}

boost::asio::awaitable<std::variant<std::uint64_t, Refusal>> erase_lessons(
    LessonParts parts, Caller caller, std::optional<std::string> id) {
  if (parts.store == nullptr) co_return no_lessons_kept();
  const bool is_one = id.has_value();
  const auto erased = co_await parts.store->erase(caller.principal.tenant, std::move(id));
  if (!erased) co_return lessons_failed(parts, caller, erased.error());
  if (is_one && *erased == 0) {
    co_return Refusal{.code = RefusalCode::no_such_lesson, .detail = "no such lesson"};
  }
  co_return *erased;
}

}  // namespace runtime
