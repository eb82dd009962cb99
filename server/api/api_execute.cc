// POST /execute: one program or one task.
#include <utility>
#include <variant>

#include "server/api/route_groups.h"
#include "server/api/tasks.h"

namespace server {
namespace {

using boost::asio::awaitable;

Caller caller_of(const Call& call) { return {call.principal, call.head.request_id}; }

awaitable<Response> execute_program(Services services, runtime::RunRequest request, Caller caller,
                                    std::stop_token gone) {
  runtime::RunOptions options;
  const std::stop_callback on_gone(gone, [cancel = options.cancel] { cancel.request(); });
  auto ran = co_await run_program(services, std::move(caller), make_job(), std::move(request),
                                  std::move(options));
  if (auto* refusal = std::get_if<Response>(&ran)) co_return std::move(*refusal);
  Response response;
  response.body = std::move(std::get<Ran>(ran).result);
  co_return response;
}

awaitable<Response> execute_task(Services services, runtime::agent::TaskRequest request,
                                 Caller caller, std::stop_token gone) {
  runtime::agent::TaskOptions options;
  const std::stop_callback on_gone(gone, [cancel = options.cancel] { cancel.request(); });
  auto ran = co_await run_task(services, std::move(caller), make_job(), std::move(request),
                               std::move(options));
  if (auto* refusal = std::get_if<Response>(&ran)) co_return std::move(*refusal);
  Response response;
  response.body = std::move(std::get<RanTask>(ran).result);
  co_return response;
}

awaitable<Response> execute(Services services, const ExecuteRules* rules, Call call) {
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

void add_execute_route(RouteTable& table, const Services& services, const ExecuteRules& rules) {
  table.add({"POST", "/execute", Access::key, Cost::program, bound(execute, services, &rules)});
}

}  // namespace server
