// POST /benchmark.
#include <algorithm>
#include <utility>

#include "runtime/benchmark/benchmark.h"
#include "runtime/benchmark/benchmark_report.h"
#include "runtime/service/programs.h"
#include "server/api/decode.h"
#include "server/api/refusals.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace benchmark = runtime::benchmark;
using boost::asio::awaitable;

benchmark::BenchmarkOptions options_of(const runtime::BenchmarkRequest& request,
                                       std::uint32_t memory_limit_mb) {
  benchmark::BenchmarkOptions options;
  options.most_tasks = request.max_problems;
  options.max_attempts = request.max_attempts;
  options.memory_limit_mb = std::min(options.memory_limit_mb, memory_limit_mb);
  options.provider = request.provider;
  options.model = request.model;
  return options;
}

awaitable<agent::TaskResult> solve(agent::AgentRuntime& runtime, std::string caller,
                                   agent::TaskRequest request, runtime::Cancel cancel) {
  agent::TaskOptions options;
  options.cancel = cancel;
  options.caller = std::move(caller);
  co_return co_await runtime.run(std::move(request), std::move(options));
}

// One of the caller's programs at a time, however many of its tasks go on.
awaitable<Response> run_suite(runtime::Services services, const runtime::RequestRules* rules,
                              Call call) {
  auto decoded = decode_benchmark(call.body, *rules);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  const auto& request = std::get<runtime::BenchmarkRequest>(decoded);
  auto suite = benchmark::shipped_suite(request.suite);
  if (!suite) co_return problem(400, "suite: " + suite.error().message());
  const std::string owner = call.principal.tenant;
  const auto claim = services.runner.claim(owner);
  if (!claim) co_return response_of(runtime::too_many_of_a_caller(services.metrics));
  auto options = options_of(request, rules->ceilings.memory_limit_mb);
  options.timeout = std::min(options.timeout, rules->ceilings.timeout);
  options.cancel = call.gone;
  benchmark::Solve each = [&runtime = *services.agent, owner](agent::TaskRequest task,
                                                              runtime::Cancel cancel) {
    return solve(runtime, owner, std::move(task), std::move(cancel));
  };
  const auto report =
      co_await benchmark::run_benchmark(std::move(*suite), std::move(options), std::move(each));
  services.logger.info("benchmark", {{"request_id", call.head.request_id},
                                     {"suite", report.suite},
                                     {"tasks", static_cast<std::int64_t>(report.tasks.size())}});
  Response response;
  response.body = benchmark::as_json(report);
  co_return response;
}

}  // namespace

void add_benchmark_route(RouteTable& table, const runtime::Services& services,
                         const runtime::RequestRules& rules) {
  table.add({"POST", "/benchmark", Access::key, Cost::program, bound(run_suite, services, &rules)});
}

}  // namespace server
