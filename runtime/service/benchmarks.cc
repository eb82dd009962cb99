#include "runtime/service/benchmarks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/service/programs.h"

namespace runtime {
namespace {

benchmark::BenchmarkOptions options_of(BenchmarkRequest request, const Ceilings& ceilings,
                                       BenchmarkCourse course) {
  benchmark::BenchmarkOptions options;
  options.max_tasks = request.max_problems;
  options.max_attempts = request.max_attempts;
  options.timeout = std::min(options.timeout, ceilings.timeout);
  options.memory_limit_mb = std::min(options.memory_limit_mb, ceilings.memory_limit_mb);
  options.provider = std::move(request.provider);
  options.model = std::move(request.model);
  options.cancel = std::move(course.cancel);
  options.on_score = std::move(course.on_score);
  return options;
}

boost::asio::awaitable<agent::TaskResult> solve_one(agent::AgentRuntime& runtime,
                                                    std::string caller, agent::TaskRequest request,
                                                    Cancel cancel) {
  agent::TaskOptions options;
  options.cancel = std::move(cancel);
  options.caller = std::move(caller);
  co_return co_await runtime.run(std::move(request), std::move(options));
}

}  // namespace

boost::asio::awaitable<std::variant<benchmark::BenchmarkReport, Refusal>> run_suite(
    BenchmarkParts parts, Caller caller, benchmark::Suite suite, BenchmarkRequest request,
    Ceilings ceilings, BenchmarkCourse course) {
  const std::string owner = caller.principal.tenant;
  const auto claim = parts.runner.claim(owner);
  if (!claim) co_return too_many_of_a_caller(parts.metrics, parts.runner);
  auto options = options_of(std::move(request), ceilings, std::move(course));
  benchmark::Solve each = [&runtime = parts.agent, owner](agent::TaskRequest task, Cancel cancel) {
    return solve_one(runtime, owner, std::move(task), std::move(cancel));
  };
  auto report =
      co_await benchmark::run_benchmark(std::move(suite), std::move(options), std::move(each));
  parts.logger.info("benchmark", {{"request_id", caller.request_id},
                                  {"suite", report.suite},
                                  {"tasks", static_cast<std::int64_t>(report.tasks.size())}});
  co_return report;
}

}  // namespace runtime
