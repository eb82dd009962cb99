#include "server/cli/benchmark.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <utility>

#include "runtime/benchmark/benchmark.h"
#include "runtime/benchmark/benchmark_report.h"
#include "runtime/service/task_rules.h"
#include "server/cli/agent_parts.h"
#include "server/cli/exit_codes.h"
#include "server/cli/interrupt.h"
#include "server/cli/local_runner.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;

asio::awaitable<agent::TaskResult> solve(agent::AgentRuntime &runtime, agent::TaskRequest request,
                                         runtime::Cancel cancel) {
  agent::TaskOptions options;
  options.cancel = cancel;
  co_return co_await runtime.run(std::move(request), std::move(options));
}

std::string text_of(const runtime::benchmark::BenchmarkReport &report,
                    BenchmarkOptions::Format format) {
  switch (format) {
    case BenchmarkOptions::Format::json:
      return as_json(report) + "\n";
    case BenchmarkOptions::Format::markdown:
      return as_markdown(report);
    case BenchmarkOptions::Format::table:
      break;
  }
  return as_table(report);
}

int measure(LocalRunner &local, agent::AgentRuntime &runtime, runtime::benchmark::Suite suite,
            const BenchmarkOptions &wanted) {
  runtime::benchmark::BenchmarkOptions options;
  options.most_tasks = wanted.max_problems;
  options.max_attempts = wanted.max_attempts.value_or(local.config.max_reflexion_attempts);
  options.provider = wanted.provider;
  options.model = wanted.model;
  options.on_score = [](const runtime::benchmark::TaskScore &score) {
    static_cast<void>(write_all(STDERR_FILENO, as_line(score) + "\n"));
  };
  const auto strand = asio::make_strand(*local.pool);
  Interrupt interrupt(strand, options.cancel);
  runtime::benchmark::Solve each = [&runtime](agent::TaskRequest request, runtime::Cancel cancel) {
    return solve(runtime, std::move(request), std::move(cancel));
  };
  auto future = asio::co_spawn(
      strand,
      runtime::benchmark::run_benchmark(std::move(suite), std::move(options), std::move(each)),
      asio::use_future);
  const auto report = future.get();
  local.pool->stop();
  local.pool->join();
  if (!write_all(STDOUT_FILENO, text_of(report, wanted.format))) return exit_own_failure;
  return interrupt.signal() != 0 ? exit_signal_base + interrupt.signal() : 0;
}

}  // namespace

int benchmark(const BenchmarkOptions &options, runtime::Environment environment) {
  auto suite = runtime::benchmark::find_suite(options.suite);
  if (!suite) return fail(exit_usage, "--suite: " + suite.error().message());
  auto local = start_local_runner(options.host, std::move(environment));
  if (!local) return fail(exit_own_failure, local.error().message());
  runtime::Logger logger(
      {.level = runtime::LogLevel::warning, .format = local->config.log_format, .write = {}});
  auto parts =
      make_agent(local->config, local->environment, *local->runner, agent::Lessons::off, logger);
  if (!parts) return fail(exit_own_failure, parts.error().message());
  if (const std::string why = why_not_taken(local->config, *parts, options.provider);
      !why.empty()) {
    return fail(exit_own_failure, why);
  }
  return measure(*local, *parts->runtime, std::move(*suite), options);
}

}  // namespace server
