// POST /execute: one program or one task.
#include <utility>
#include <variant>

#include "runtime/service/programs.h"
#include "runtime/service/tasks.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

using boost::asio::awaitable;

runtime::Caller caller_of(const Call& call) { return {call.principal, call.head.request_id}; }

template <class Outcome>
Response answer_of(std::variant<Outcome, runtime::Refusal> ran) {
  if (const auto* refusal = std::get_if<runtime::Refusal>(&ran)) return response_of(*refusal);
  Response response;
  response.body = std::move(std::get<Outcome>(ran).result);
  return response;
}

awaitable<Response> execute_program(runtime::Services services, runtime::RunRequest request,
                                    runtime::Caller caller, runtime::Cancel gone) {
  runtime::RunOptions options;
  options.cancel = gone.child();
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

awaitable<Response> execute(runtime::Services services, const runtime::RequestRules* rules,
                            Call call) {
  auto decoded = decode_execute(call.body, *rules);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  call.body = std::string();  // up to 16 MiB that nobody needs while the program runs
  if (auto* task = std::get_if<runtime::agent::TaskRequest>(&decoded)) {
    co_return co_await execute_task(services, std::move(*task), caller_of(call), call.gone);
  }
  auto& program = std::get<runtime::RunRequest>(decoded);
  co_return co_await execute_program(services, std::move(program), caller_of(call), call.gone);
}

}  // namespace

void add_execute_route(RouteTable& table, const runtime::Services& services,
                       const runtime::RequestRules& rules) {
  table.add({"POST", "/execute", Access::key, Cost::program, bound(execute, services, &rules)});
}

}  // namespace server
