// The routes below /lessons.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/service/caller_lessons.h"
#include "runtime/service/list_queries.h"
#include "server/api/encode_lessons.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

using runtime::Refusal;

runtime::LessonParts parts_of(const runtime::Services& services) {
  return {services.lessons, services.logger};
}

boost::asio::awaitable<Response> show_lessons(runtime::Services services, Call call) {
  runtime::LessonQuery query;
  if (auto refusal = read_query(call.query, runtime::lesson_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto page =
      co_await runtime::list_lessons(parts_of(services), caller_of(call), std::move(query));
  if (const auto* refusal = std::get_if<Refusal>(&page)) co_return problem(*refusal);
  Response response;
  response.body = encode_lessons(std::get<runtime::agent::LessonPage>(page));
  co_return response;
}

// Erases all lessons of the caller, or the one that the path names.
boost::asio::awaitable<Response> forget(runtime::Services services, Call call) {
  std::optional<std::string> id;
  if (!call.parameters.empty()) id = call.parameter("id");
  const auto erased =
      co_await runtime::erase_lessons(parts_of(services), caller_of(call), std::move(id));
  if (const auto* refusal = std::get_if<Refusal>(&erased)) co_return problem(*refusal);
  Response response;
  response.body = encode_erased(std::get<std::uint64_t>(erased));
  co_return response;
}

}  // namespace

void add_lesson_routes(const RouteParts& parts) {
  parts.table.add({"GET", "/lessons", Access::key(Scope::read), Cost::record,
                   bound(show_lessons, parts.services),
                   runtime::names_of(runtime::lesson_query_fields())});
  parts.table.add({"DELETE", "/lessons", Access::key(Scope::execute), Cost::record,
                   bound(forget, parts.services)});
  parts.table.add({"DELETE", "/lessons/{id}", Access::key(Scope::execute), Cost::record,
                   bound(forget, parts.services)});
}

}  // namespace server
