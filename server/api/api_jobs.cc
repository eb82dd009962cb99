// The routes below /jobs.
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "runtime/service/caller_jobs.h"
#include "runtime/service/list_queries.h"
#include "runtime/service/sandbox_requests.h"
#include "server/api/decode.h"
#include "server/api/encode_jobs.h"
#include "server/api/live_events.h"
#include "server/api/query.h"
#include "server/api/route_groups.h"
#include "server/events/response_events.h"

namespace server {
namespace {

using runtime::Refusal;

boost::asio::awaitable<Response> show_jobs(runtime::Services services, Call call) {
  runtime::JobQuery query;
  if (auto refusal = read_query(call.query, runtime::job_query_fields(), query)) {
    co_return std::move(*refusal);
  }
  const auto page = co_await runtime::list_jobs(services, caller_of(call), std::move(query));
  if (const auto* refusal = std::get_if<Refusal>(&page)) co_return problem(*refusal);
  Response response;
  response.body = encode_jobs(std::get<runtime::JobPage>(page));
  co_return response;
}

// The id of the last event. A client that reconnects by itself, as an EventSource does, shows by it
// that it has seen everything, and 204 tells it to stop reconnecting.
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
  return found.kind == runtime::task_job ? start_of_task(id)
                                         : start_of_program(id, found.language, found.encoding);
}

// Returns a job as JSON, or the problem why there is none.
std::variant<std::string, Response> text_of(
    const runtime::Services& services, const Call& call,
    const std::variant<runtime::JobRecord, Refusal>& found) {
  if (const auto* refusal = std::get_if<Refusal>(&found)) return problem(*refusal);
  auto text = encode_job(std::get<runtime::JobRecord>(found));
  if (text) return std::move(*text);
  return problem(runtime::job_not_readable(services, caller_of(call), text.error()));
}

// Sends the last event, with the state of the job where it can be read: its result, or why there is
// none.
boost::asio::awaitable<Response> say_end(runtime::Services services, const Call& call,
                                         ResponseEvents& sink, std::uint64_t seq) {
  const auto found = co_await runtime::find_job(services, caller_of(call), call.parameter("id"));
  auto job = text_of(services, call, found);
  if (call.gone.requested()) {
    job = problem(RefusalCode::stopping, "the stream ends before the job: the server is stopping");
  }
  auto* const why_none = std::get_if<Response>(&job);
  if (why_none != nullptr && !call.stream->begun()) co_return std::move(*why_none);
  if (why_none == nullptr) sink.set_next_id(std::string(last_event_id));
  const auto now = std::chrono::system_clock::now();
  std::string event = why_none != nullptr
                          ? encode_event("error", why_none->body, seq, now)
                          : encode_event("complete", std::get<std::string>(job), seq, now);
  const bool is_sent = co_await sink.write(std::move(event));
  if (is_sent) co_await call.stream->end();
  co_return Response();
}

boost::asio::awaitable<Response> follow(runtime::Services services, Call call, EventFormat format) {
  if (call.head.header("Last-Event-ID") == last_event_id) {
    co_return no_content();
  }
  const std::string& id = call.parameter("id");
  ResponseEvents sink(*call.stream, format, co_await boost::asio::this_coro::executor);
  const auto events = std::make_shared<LiveEvents>(sink, LiveEvents::Backlog::drops);
  const auto watch =
      runtime::follow_job(services, caller_of(call), id, std::make_shared<Follower>(*events));
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
  if (const auto format = event_format_of(call.head)) {
    co_return co_await follow(services, std::move(call), *format);
  }
  const auto found = co_await runtime::find_job(services, caller_of(call), call.parameter("id"));
  auto job = text_of(services, call, found);
  if (auto* refusal = std::get_if<Response>(&job)) co_return std::move(*refusal);
  Response response;
  response.body = std::get<std::string>(std::move(job));
  co_return response;
}

boost::asio::awaitable<Response> end_job(runtime::Services services, Call call) {
  const std::string& id = call.parameter("id");
  const auto refusal = co_await runtime::cancel_job(services, caller_of(call), id);
  if (refusal) co_return problem(*refusal);
  Response response;
  response.status = 202;
  response.body = encode_cancelling(id);
  co_return response;
}

boost::asio::awaitable<Response> signal_job(runtime::Services services,
                                            const runtime::RequestRules* rules, Call call) {
  runtime::SignalRequest request;
  if (auto refusal = decode_into(call.body, runtime::job_signal_fields(), *rules, request)) {
    co_return std::move(*refusal);
  }
  const auto refusal =
      co_await runtime::signal_job(services, caller_of(call), call.parameter("id"), request.number);
  if (refusal) co_return problem(*refusal);
  co_return no_content();
}

}  // namespace

void add_job_routes(const RouteParts& parts) {
  parts.table.add({"GET", "/jobs", Access::key(Scope::read), Cost::record,
                   bound(show_jobs, parts.services),
                   runtime::names_of(runtime::job_query_fields())});
  parts.table.add({"GET", "/jobs/{id}", Access::key(Scope::read), Cost::record,
                   bound(show_job, parts.services)});
  parts.table.add({"DELETE", "/jobs/{id}", Access::key(Scope::execute), Cost::record,
                   bound(end_job, parts.services)});
  parts.table.add({"POST", "/jobs/{id}/signal", Access::key(Scope::execute), Cost::record,
                   bound(signal_job, parts.services, &parts.rules)});
}

}  // namespace server
