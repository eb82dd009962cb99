// The routes below /jobs.
#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "runtime/observe/uuid.h"
#include "server/api/encode_jobs.h"
#include "server/api/live_events.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/events/response_events.h"

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
  for (const auto& [name, value] : call.query) {
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

// The id of the last event. A client that connects again by itself, as an EventSource does, says
// with it that it has seen everything, and 204 tells it to leave it at that.
constexpr std::string_view last_event_id = "end";

class Follower final : public runtime::JobWatcher {
 public:
  explicit Follower(LiveEvents& events)
      : hear_start_(events.hear_start()),
        hear_output_(events.hear_output()),
        hear_steps_(events.hear_steps()),
        hear_end_(events.hear_end()) {}

  void on_start() override { hear_start_(); }
  void on_output(runtime::Stream stream, std::string_view bytes) override {
    hear_output_(stream, bytes);
  }
  void on_event(const runtime::agent::Event& event) override { hear_steps_(event); }
  void on_end() override { hear_end_(); }

 private:
  const std::function<void()> hear_start_;
  const std::function<void(runtime::Stream, std::string_view)> hear_output_;
  const runtime::agent::EventSink hear_steps_;
  const std::function<void()> hear_end_;
};

std::string start_of(const std::string& id, const runtime::LiveJobs::Found& found) {
  return found.kind == runtime::task_job ? start_of_task(id) : start_of_program(id, found.language);
}

// The last event, and how the job stands where it is read: its result, or why there is none.
boost::asio::awaitable<Response> say_end(runtime::Services services, const Call& call,
                                         ResponseEvents& sink, std::uint64_t seq) {
  const auto record = co_await services.jobs.find(call.parameter("id"), call.principal.sees());
  std::optional<Response> problem_there;
  jail::Result<std::string> job{std::string()};
  if (!record) {
    problem_there = jobs_failed(services, call, record.error());
  } else if (call.gone.requested()) {
    problem_there = problem(503, "the stream ends before the job: the server is stopping", {},
                            {.code = "stopping"});
  } else if (!*record) {
    problem_there = no_such_job();
  } else if (job = encode_job(**record); !job) {
    problem_there = jobs_failed(services, call, job.error());
  }
  if (problem_there && !call.stream->begun()) co_return std::move(*problem_there);
  if (!problem_there) sink.set_next_id(std::string(last_event_id));
  const auto now = std::chrono::system_clock::now();
  std::string event = problem_there ? encode_event("error", problem_there->body, seq, now)
                                    : encode_event("complete", *job, seq, now);
  const bool is_sent = co_await sink.write(std::move(event));
  if (is_sent) co_await call.stream->end();
  co_return Response();
}

boost::asio::awaitable<Response> follow_job(runtime::Services services, Call call,
                                            EventFormat format) {
  if (call.head.header("Last-Event-ID") == last_event_id) {
    co_return no_content();
  }
  const std::string& id = call.parameter("id");
  ResponseEvents sink(*call.stream, format, co_await boost::asio::this_coro::executor);
  const auto events = std::make_shared<LiveEvents>(sink, LiveEvents::Backlog::drops);
  const auto watch =
      services.live_jobs->watch(id, call.principal.sees(), std::make_shared<Follower>(*events));
  if (watch != nullptr) {
    events->expect_start(start_of(id, watch->found), watch->found.encoding);
    if (watch->found.has_started) events->say_started();
    const runtime::Cancel::Listener on_gone(call.gone, [events] { events->stop(); });
    if (!co_await sink.open()) co_return Response();
    if (!co_await events->writer().run()) co_return Response();
  }
  co_return co_await say_end(services, call, sink, events->writer().count() + 1);
}

boost::asio::awaitable<Response> show_job(runtime::Services services, Call call) {
  const std::string& id = call.parameter("id");
  if (!runtime::is_uuid(id)) co_return no_such_job();
  if (const auto format = event_format_of(call.head)) {
    co_return co_await follow_job(services, std::move(call), *format);
  }
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
  table.add({"GET", "/jobs", Access::key, Cost::record, bound(list_jobs, services),
             QueryNames{"limit", "cursor", "status"}});
  table.add({"GET", "/jobs/{id}", Access::key, Cost::record, bound(show_job, services)});
  table.add({"DELETE", "/jobs/{id}", Access::key, Cost::record, bound(cancel_job, services)});
}

}  // namespace server
