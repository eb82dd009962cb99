// The routes below /lessons.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/service/caller_lessons.h"
#include "server/api/encode_lessons.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

constexpr std::uint32_t max_lessons = 200;
using runtime::Refusal;

std::optional<std::string> read_parameter(std::string_view name, const std::string& value,
                                          runtime::LessonQuery& query) {
  if (name == "limit") return read_limit(value, max_lessons, query.limit);
  if (name == "cursor") query.cursor = value;
  return std::nullopt;
}

runtime::LessonParts parts_of(const runtime::Services& services) {
  return {services.lessons, services.logger};
}

boost::asio::awaitable<Response> show_lessons(runtime::Services services, Call call) {
  runtime::LessonQuery query;
  for (const auto& [name, value] : call.query) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  const auto page =
      co_await runtime::list_lessons(parts_of(services), caller_of(call), std::move(query));
  if (const auto* refusal = std::get_if<Refusal>(&page)) co_return response_of(*refusal);
  Response response;
  response.body = encode_lessons(std::get<runtime::agent::LessonPage>(page));
  co_return response;
}

// All of the caller's, or the one that the path names.
boost::asio::awaitable<Response> forget(runtime::Services services, Call call) {
  std::optional<std::string> id;
  if (!call.parameters.empty()) id = call.parameter("id");
  const auto erased =
      co_await runtime::erase_lessons(parts_of(services), caller_of(call), std::move(id));
  if (const auto* refusal = std::get_if<Refusal>(&erased)) co_return response_of(*refusal);
  Response response;
  response.body = encode_erased(std::get<std::uint64_t>(erased));
  co_return response;
}

}  // namespace

void add_lesson_routes(RouteTable& table, const runtime::Services& services) {
  table.add({"GET", "/lessons", Access::key, Cost::record, bound(show_lessons, services),
             QueryNames{"limit", "cursor"}});
  table.add({"DELETE", "/lessons", Access::key, Cost::record, bound(forget, services)});
  table.add({"DELETE", "/lessons/{id}", Access::key, Cost::record, bound(forget, services)});
}

}  // namespace server
