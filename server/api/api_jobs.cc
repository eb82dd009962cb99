// The routes below /jobs.
#include <algorithm>
#include <utility>

#include "runtime/json/writer.h"
#include "runtime/observe/uuid.h"
#include "server/api/encode_jobs.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

constexpr std::uint32_t max_jobs = 200;
constexpr std::string_view statuses[] = {"running",   "success",       "error",  "timeout",
                                         "failed",    "out_of_memory", "killed", "violation",
                                         "cancelled", "completed"};

// The complaint, or nothing.
std::optional<std::string> read_parameter(std::string_view name, const std::string& value,
                                          runtime::JobQuery& query) {
  if (name == "limit") {
    return read_limit(value, max_jobs, query.limit);
  } else if (name == "cursor") {
    if (!runtime::is_job_cursor(value)) return "cursor: expected the next_cursor of another page";
    query.cursor = value;
  } else if (name == "status") {
    if (std::find(std::begin(statuses), std::end(statuses), value) == std::end(statuses)) {
      std::string names;
      for (const auto status : statuses) names += (names.empty() ? "" : ", ") + std::string(status);
      return "status: expected one of " + names;
    }
    query.status = value;
  } else {
    return runtime::json::quoted(name) + ": unknown; expected limit, cursor, status";
  }
  return std::nullopt;
}

Response no_such_job() { return problem(404, "no such job"); }

Response jobs_failed(const runtime::Services& services, const Call& call,
                     const jail::Error& error) {
  services.logger.error("jobs cannot be read",
                        {{"request_id", call.head.request_id}, {"error", error.message()}});
  return problem(500,
                 "jobs cannot be read; the server's log has the reason under this request's id");
}

boost::asio::awaitable<Response> list_jobs(runtime::Services services, Call call) {
  runtime::JobQuery query;
  const auto parameters = parameters_of(call.head.query);
  if (!parameters) co_return problem(400, parameters.error().message());
  for (const auto& [name, value] : *parameters) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  query.owner = call.principal.sees();
  const auto page = co_await services.jobs.list(std::move(query));
  if (!page) co_return jobs_failed(services, call, page.error());
  Response response;
  response.body = encode_jobs(*page);
  co_return response;
}

boost::asio::awaitable<Response> show_job(runtime::Services services, Call call) {
  const std::string& id = call.parameter("id");
  if (!runtime::is_uuid(id)) co_return no_such_job();
  const auto record = co_await services.jobs.find(id, call.principal.sees());
  if (!record) co_return jobs_failed(services, call, record.error());
  if (!*record) co_return no_such_job();
  auto body = encode_job(**record);
  if (!body) co_return jobs_failed(services, call, body.error());
  Response response;
  response.body = std::move(*body);
  co_return response;
}

boost::asio::awaitable<Response> cancel_job(runtime::Services services, Call call) {
  const std::string& id = call.parameter("id");
  if (!runtime::is_uuid(id)) co_return no_such_job();
  const auto cancelled = co_await services.jobs.cancel(id, call.principal.sees());
  if (!cancelled) co_return jobs_failed(services, call, cancelled.error());
  if (*cancelled == runtime::Jobs::Cancelled::unknown) co_return no_such_job();
  if (*cancelled == runtime::Jobs::Cancelled::over) {
    co_return problem(409, "the job has ended; only one that runs can be cancelled");
  }
  Response response;
  response.status = 202;
  response.body = encode_cancelling(id);
  co_return response;
}

}  // namespace

void add_job_routes(RouteTable& table, const runtime::Services& services) {
  table.add({"GET", "/jobs", Access::key, Cost::record, bound(list_jobs, services)});
  table.add({"GET", "/jobs/{id}", Access::key, Cost::record, bound(show_job, services)});
  table.add({"DELETE", "/jobs/{id}", Access::key, Cost::record, bound(cancel_job, services)});
}

}  // namespace server
