// The routes below /lessons.
#include <utility>

#include "runtime/json/writer.h"
#include "server/api/api.h"
#include "server/api/encode_lessons.h"
#include "server/api/query.h"

namespace server {
namespace {

constexpr std::uint32_t max_lessons = 200;
constexpr std::uint32_t usual_limit = 50;

struct LessonQuery {
  std::uint32_t limit = usual_limit;
  std::optional<std::string> cursor;
};

std::optional<std::string> read_parameter(std::string_view name, const std::string& value,
                                          LessonQuery& query) {
  if (name == "limit") return read_limit(value, max_lessons, query.limit);
  if (name != "cursor") return runtime::json::quoted(name) + ": unknown; expected limit, cursor";
  query.cursor = value;
  return std::nullopt;
}

Response none_kept() {
  return problem(404, "no lessons are kept here: they are switched off, or no provider is set");
}

}  // namespace

boost::asio::awaitable<Response> Api::list_lessons(RequestHead head) {
  LessonQuery query;
  const auto parameters = parameters_of(head.query);
  if (!parameters) co_return problem(400, parameters.error().message());
  for (const auto& [name, value] : *parameters) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  if (services_.lessons == nullptr) co_return none_kept();
  const auto page = co_await services_.lessons->list(owner_filter(head).value_or(""), query.limit,
                                                     std::move(query.cursor));
  if (!page && page.error().kind == jail::ErrorKind::invalid) {
    co_return problem(400, "cursor: expected the next_cursor of another page");
  }
  if (!page) co_return lessons_failed(head, page.error());
  Response response;
  response.body = encode_lessons(*page);
  co_return response;
}

boost::asio::awaitable<Response> Api::erase_lessons(RequestHead head,
                                                    std::optional<std::string> id) {
  if (services_.lessons == nullptr) co_return none_kept();
  const bool one = id.has_value();
  const auto erased =
      co_await services_.lessons->erase(owner_filter(head).value_or(""), std::move(id));
  if (!erased) co_return lessons_failed(head, erased.error());
  if (one && *erased == 0) co_return problem(404, "no such lesson");
  Response response;
  response.body = encode_erased(*erased);
  co_return response;
}

Response Api::lessons_failed(const RequestHead& head, const jail::Error& error) const {
  services_.logger.error("lessons cannot be reached",
                         {{"request_id", head.request_id}, {"error", error.message()}});
  return problem(
      500, "lessons cannot be reached; the server's log has the reason under this request's id");
}

}  // namespace server
