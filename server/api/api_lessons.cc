// The routes below /lessons.
#include <utility>

#include "server/api/encode_lessons.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"

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
  if (name == "cursor") query.cursor = value;
  return std::nullopt;
}

Response none_kept() {
  return problem(404, "no lessons are kept here: they are switched off, or no provider is set");
}

Response lessons_failed(const runtime::Services& services, const Call& call,
                        const jail::Error& error) {
  services.logger.error("lessons cannot be reached",
                        {{"request_id", call.head.request_id}, {"error", error.message()}});
  return problem(
      500, "lessons cannot be reached; the server's log has the reason under this request's id");
}

boost::asio::awaitable<Response> list_lessons(runtime::Services services, Call call) {
  LessonQuery query;
  for (const auto& [name, value] : call.query) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  if (services.lessons == nullptr) co_return none_kept();
  const auto page =
      co_await services.lessons->list(call.principal.tenant, query.limit, std::move(query.cursor));
  if (!page && page.error().kind == jail::ErrorKind::invalid) {
    co_return problem(400, "cursor: expected the next_cursor of another page");
  }
  if (!page) co_return lessons_failed(services, call, page.error());
  Response response;
  response.body = encode_lessons(*page);
  co_return response;
}

// All of the caller's, or the one that the path names.
boost::asio::awaitable<Response> erase_lessons(runtime::Services services, Call call) {
  if (services.lessons == nullptr) co_return none_kept();
  std::optional<std::string> id;
  if (!call.parameters.empty()) id = call.parameter("id");
  const bool one = id.has_value();
  const auto erased = co_await services.lessons->erase(call.principal.tenant, std::move(id));
  if (!erased) co_return lessons_failed(services, call, erased.error());
  if (one && *erased == 0) co_return problem(404, "no such lesson");
  Response response;
  response.body = encode_erased(*erased);
  co_return response;
}

}  // namespace

void add_lesson_routes(RouteTable& table, const runtime::Services& services) {
  table.add({"GET", "/lessons", Access::key, Cost::record, bound(list_lessons, services),
             QueryNames{"limit", "cursor"}});
  table.add({"DELETE", "/lessons", Access::key, Cost::record, bound(erase_lessons, services)});
  table.add({"DELETE", "/lessons/{id}", Access::key, Cost::record, bound(erase_lessons, services)});
}

}  // namespace server
