// POST /benchmark.
#include <algorithm>
#include <utility>

#include "runtime/benchmark/benchmark.h"
#include "runtime/benchmark/benchmark_report.h"
#include "server/api/api.h"
#include "server/api/decode_benchmark.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace benchmark = runtime::benchmark;
using boost::asio::awaitable;

benchmark::BenchmarkOptions options_of(const BenchmarkRequest &request,
                                       std::uint32_t memory_limit_mb) {
  benchmark::BenchmarkOptions options;
  options.most_tasks = request.max_problems;
  options.max_attempts = request.max_attempts;
  options.memory_limit_mb = std::min(options.memory_limit_mb, memory_limit_mb);
  options.provider = request.provider;
  options.model = request.model;
  return options;
}

awaitable<agent::TaskResult> solve(agent::AgentRuntime &runtime, std::string caller,
                                   agent::TaskRequest request, runtime::Cancel cancel) {
  agent::TaskOptions options;
  options.cancel = cancel;
  options.caller = std::move(caller);
  co_return co_await runtime.run(std::move(request), std::move(options));
}

}  // namespace

// One of the caller's programs at a time, however many of its tasks go on.
awaitable<Response> Api::benchmark(RequestHead head, std::string body, std::stop_token gone) {
  auto decoded = decode_benchmark(body, options_.execute);
  if (auto *refusal = std::get_if<Response>(&decoded)) co_return std::move(*refusal);
  const auto &request = std::get<BenchmarkRequest>(decoded);
  auto suite = benchmark::shipped_suite(request.suite);
  if (!suite) co_return problem(400, "suite: " + suite.error().message());
  const std::string owner = owner_filter(head).value_or("");
  const auto claim = services_.runner.claim(owner);
  if (!claim) {
    services_.metrics.rejected.add({"concurrency"});
    co_return too_many_of_a_caller();
  }
  auto options = options_of(request, options_.execute.ceilings.memory_limit_mb);
  options.timeout = std::min(options.timeout, options_.execute.ceilings.timeout);
  const std::stop_callback on_gone(gone, [cancel = options.cancel] { cancel.request(); });
  benchmark::Solve each = [&runtime = *services_.agent, owner](agent::TaskRequest task,
                                                               runtime::Cancel cancel) {
    return solve(runtime, owner, std::move(task), std::move(cancel));
  };
  const auto report =
      co_await benchmark::run_benchmark(std::move(*suite), std::move(options), std::move(each));
  services_.logger.info("benchmark", {{"request_id", head.request_id},
                                      {"suite", report.suite},
                                      {"tasks", static_cast<std::int64_t>(report.tasks.size())}});
  Response response;
  response.body = benchmark::as_json(report);
  co_return response;
}

}  // namespace server
