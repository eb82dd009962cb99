// The routes of what happened in sandboxes: in one of them, and in all of a caller's.
#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/json/writer.h"
#include "runtime/service/sandbox_json.h"
#include "server/api/query.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

using boost::asio::awaitable;
using runtime::Refusal;
using runtime::Sandboxes;
using runtime::SandboxEventQuery;

constexpr std::uint32_t max_events = 1000;
constexpr std::string_view kinds[] = {
    "created",      "changed",      "process_started", "process_ended",
    "file_written", "file_moved",   "directory_made",  "file_read",
    "file_removed", "pause_asked",  "paused",          "resume_asked",
    "resumed",      "delete_asked", "ended",           "forgotten"};

// What is wrong with a parameter, or nothing.
std::optional<std::string> read_parameter(std::string_view name, const std::string& value,
                                          SandboxEventQuery& query) {
  if (name == "limit") return read_limit(value, max_events, query.limit);
  if (name == "cursor") {
    const auto number = number_of(value);
    if (!number) return "cursor: expected the next_cursor of another page, or a number of an event";
    (query.is_newest_first ? query.before : query.after) = *number;
  } else if (name == "kind") {
    if (std::find(std::begin(kinds), std::end(kinds), value) == std::end(kinds)) {
      std::string names;
      for (const auto kind : kinds) names += (names.empty() ? "" : ", ") + std::string(kind);
      return "kind: expected one of " + names;
    }
    query.kind = value;
  } else if (name == "sandbox") {
    query.sandbox = value;
  }
  return std::nullopt;
}

awaitable<Response> answer(runtime::Services services, Call call, SandboxEventQuery query) {
  for (const auto& [name, value] : call.query) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  const auto page = co_await services.sandboxes->events(std::move(query));
  if (!page) {
    services.logger.error("events cannot be read", {{"request_id", call.head.request_id},
                                                    {"error", page.error().message()}});
    co_return problem(
        500, "events cannot be read; the server's log has the reason under this request's id");
  }
  runtime::json::Writer writer;
  writer.begin_object().key("events").begin_array();
  for (const runtime::SandboxEvent& event : page->events) runtime::write_event(writer, event);
  writer.end_array().key("next_cursor");
  page->has_more ? writer.string(std::to_string(page->events.back().number)) : writer.null();
  writer.end_object();
  Response response;
  response.body = std::move(writer).take();
  co_return response;
}

// The oldest first, as a log is read.
awaitable<Response> list_events(runtime::Services services, Call call) {
  const auto found = services.sandboxes->find(call.principal, call.parameter("id"));
  if (const auto* refusal = std::get_if<Refusal>(&found)) co_return response_of(*refusal);
  const runtime::Sandbox& sandbox = *std::get<Sandboxes::Found>(found);
  SandboxEventQuery query;
  query.owner = sandbox.owner();
  query.sandbox = sandbox.id();
  co_return co_await answer(services, std::move(call), std::move(query));
}

// The newest first, as pages of jobs are.
awaitable<Response> list_audit(runtime::Services services, Call call) {
  SandboxEventQuery query;
  query.owner = call.principal.tenant;
  query.is_newest_first = true;
  co_return co_await answer(services, std::move(call), std::move(query));
}

}  // namespace

void add_sandbox_event_routes(RouteTable& table, const runtime::Services& services) {
  using Versions = Route::Versions;
  table.add({"GET", "/v1/sandboxes/{id}/events", Access::key, Cost::record,
             bound(list_events, services), QueryNames{"limit", "cursor", "kind"}, Versions::plain});
  table.add({"GET", "/v1/audit", Access::key, Cost::record, bound(list_audit, services),
             QueryNames{"limit", "cursor", "kind", "sandbox"}, Versions::plain});
}

}  // namespace server
