// POST /execute: one program or one task, answered at its end or while it runs.
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/service/programs.h"
#include "runtime/service/tasks.h"
#include "server/api/live_run.h"
#include "server/api/route_groups.h"
#include "server/events/response_events.h"

namespace server {
namespace {

using boost::asio::awaitable;
using boost::asio::experimental::awaitable_operators::operator&&;

template <class Outcome>
Response answer_of(std::variant<Outcome, runtime::Refusal> ran) {
  if (const auto* refusal = std::get_if<runtime::Refusal>(&ran)) return problem(*refusal);
  Response response;
  response.body = std::move(std::get<Outcome>(ran).result);
  return response;
}

awaitable<Response> execute_program(runtime::Services services, runtime::RunRequest request,
                                    runtime::Caller caller, runtime::Cancel gone) {
  runtime::RunOptions options;
  options.cancel = gone.child();
  options.result_first = true;
  auto ran = co_await runtime::run_program(services, std::move(caller), runtime::make_execution(),
                                           std::move(request), std::move(options));
  co_return answer_of(std::move(ran));
}

awaitable<Response> execute_task(runtime::Services services, runtime::agent::TaskRequest request,
                                 runtime::Caller caller, runtime::Cancel gone) {
  runtime::agent::TaskOptions options;
  options.cancel = gone.child();
  auto ran = co_await runtime::run_task(services, std::move(caller), runtime::make_execution(),
                                        std::move(request), std::move(options));
  co_return answer_of(std::move(ran));
}

// Returns std::nullopt where the events contain everything, including a refusal; else the answer.
awaitable<std::optional<Response>> run_or_refuse(runtime::Services services, runtime::Caller caller,
                                                 ExecuteRequest request, const Call& call,
                                                 std::shared_ptr<LiveEvents> events) {
  const auto refusal =
      co_await run_live(services, std::move(caller), std::move(request), call.gone.child(), events);
  if (!refusal) co_return std::nullopt;
  Response why = problem(*refusal);
  if (call.stream->begun() || events->writer().count() > 0) {
    events->end("error", why.body);
    co_return std::nullopt;
  }
  events->stop();
  co_return why;
}

awaitable<Response> execute_live(runtime::Services services, ExecuteRequest request, Call call,
                                 EventFormat format) {
  ResponseEvents sink(*call.stream, format, co_await boost::asio::this_coro::executor);
  const auto events = std::make_shared<LiveEvents>(sink, LiveEvents::Backlog::pauses);
  auto [written, refusal] =
      co_await (events->writer().run() &&
                run_or_refuse(services, caller_of(call), std::move(request), call, events));
  if (refusal) co_return std::move(*refusal);
  if (written) co_await call.stream->end();
  co_return Response();
}

awaitable<Response> execute(runtime::Services services, const runtime::RequestRules* rules,
                            Call call) {
  auto decoded = decode_execute(call.body, *rules);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  call.body = std::string();  // frees up to 16 MiB that are not needed while the program runs
  if (const auto format = event_format_of(call.head)) {
    ExecuteRequest request = request_of(std::move(decoded));
    co_return co_await execute_live(services, std::move(request), std::move(call), *format);
  }
  if (auto* task = std::get_if<runtime::agent::TaskRequest>(&decoded)) {
    co_return co_await execute_task(services, std::move(*task), caller_of(call), call.gone);
  }
  auto& program = std::get<runtime::RunRequest>(decoded);
  co_return co_await execute_program(services, std::move(program), caller_of(call), call.gone);
}

}  // namespace

void add_execute_route(const RouteParts& parts) {
  parts.table.add({"POST", "/execute", Access::key(Scope::execute), Cost::program,
                   bound(execute, parts.services, &parts.rules)});
}

}  // namespace server
