// POST /benchmark.
#include <utility>
#include <variant>

#include "runtime/benchmark/benchmark_report.h"
#include "runtime/service/benchmarks.h"
#include "server/api/decode.h"
#include "server/api/route_groups.h"

namespace server {
namespace {

namespace benchmark = runtime::benchmark;

boost::asio::awaitable<Response> measure(runtime::Services services,
                                         const runtime::RequestRules* rules, Call call) {
  auto decoded = decode_benchmark(call.body, *rules);
  if (auto* refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  auto request = std::get<runtime::BenchmarkRequest>(std::move(decoded));
  auto suite = benchmark::shipped_suite(request.suite);
  if (!suite) co_return problem(RefusalCode::bad_request, "suite: " + suite.error().message());
  const runtime::BenchmarkParts parts{services.runner, *services.agent, services.metrics,
                                      services.logger};
  runtime::BenchmarkCourse course{.cancel = call.gone};
  const auto report =
      co_await runtime::run_suite(parts, caller_of(call), std::move(*suite), std::move(request),
                                  rules->ceilings, std::move(course));
  if (const auto* refusal = std::get_if<runtime::Refusal>(&report)) co_return problem(*refusal);
  Response response;
  response.body = benchmark::as_json(std::get<benchmark::BenchmarkReport>(report));
  co_return response;
}

}  // namespace

void add_benchmark_route(const RouteParts& parts) {
  parts.table.add({"POST", "/benchmark", Access::key(Scope::execute), Cost::program,
                   bound(measure, parts.services, &parts.rules)});
}

}  // namespace server
