// The routes below /jobs.
#include <algorithm>
#include <utility>

#include "runtime/json/writer.h"
#include "server/api/api.h"
#include "server/api/encode_jobs.h"
#include "server/api/query.h"
#include "server/http/uuid.h"

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

}  // namespace

boost::asio::awaitable<Response> Api::list_jobs(RequestHead head) {
  runtime::JobQuery query;
  const auto parameters = parameters_of(head.query);
  if (!parameters) co_return problem(400, parameters.error().message());
  for (const auto& [name, value] : *parameters) {
    if (const auto complaint = read_parameter(name, value, query)) {
      co_return problem(400, *complaint);
    }
  }
  query.owner = owner_filter(head);
  const auto page = co_await services_.jobs.list(std::move(query));
  if (!page) co_return jobs_failed(head, page.error());
  Response response;
  response.body = encode_jobs(*page);
  co_return response;
}

boost::asio::awaitable<Response> Api::job(RequestHead head, std::string id) {
  if (!is_uuid(id)) co_return no_such_job();
  const auto record = co_await services_.jobs.find(std::move(id), owner_filter(head));
  if (!record) co_return jobs_failed(head, record.error());
  if (!*record) co_return no_such_job();
  Response response;
  response.body = encode_job(**record);
  co_return response;
}

boost::asio::awaitable<Response> Api::cancel_job(RequestHead head, std::string id) {
  if (!is_uuid(id)) co_return no_such_job();
  const auto cancelled = co_await services_.jobs.cancel(id, owner_filter(head));
  if (!cancelled) co_return jobs_failed(head, cancelled.error());
  if (*cancelled == runtime::Jobs::Cancelled::unknown) co_return no_such_job();
  if (*cancelled == runtime::Jobs::Cancelled::over) {
    co_return problem(409, "the job has ended; only one that runs can be cancelled");
  }
  Response response;
  response.status = 202;
  response.body = encode_cancelling(id);
  co_return response;
}

Response Api::jobs_failed(const RequestHead& head, const jail::Error& error) const {
  services_.logger.error("jobs cannot be read",
                         {{"request_id", head.request_id}, {"error", error.message()}});
  return problem(500,
                 "jobs cannot be read; the server's log has the reason under this request's id");
}

}  // namespace server
