#include "server/cli/benchmark.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>
#include <variant>

#include "runtime/benchmark/benchmark_report.h"
#include "runtime/service/benchmarks.h"
#include "server/cli/agent_parts.h"
#include "server/cli/common_arguments.h"
#include "server/cli/drop_privileges.h"
#include "server/cli/exit_codes.h"
#include "server/cli/interrupt.h"
#include "server/cli/local_runner.h"
#include "server/cli/write_all.h"

namespace server {
namespace {

namespace agent = runtime::agent;
namespace asio = boost::asio;

// Without one of them the figures say nothing about a model.
bool has_answers(const runtime::benchmark::BenchmarkReport& report) {
  return std::ranges::any_of(
      report.tasks, [](const runtime::benchmark::TaskScore& score) { return score.attempts > 0; });
}

std::string text_of(const runtime::benchmark::BenchmarkReport& report,
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

runtime::BenchmarkRequest request_of(const BenchmarkOptions& wanted,
                                     const runtime::Config& config) {
  runtime::BenchmarkRequest request;
  request.max_problems = wanted.max_problems;
  request.max_attempts = wanted.max_attempts.value_or(config.max_reflexion_attempts);
  request.provider = wanted.provider;
  request.model = wanted.model;
  return request;
}

int measure(LocalRunner& local, agent::AgentRuntime& runtime, runtime::Logger& logger,
            runtime::benchmark::Suite suite, const BenchmarkOptions& wanted) {
  runtime::Metrics metrics;
  const runtime::BenchmarkParts parts{*local.runner, runtime, metrics, logger};
  runtime::BenchmarkCourse course;
  course.on_score = [](const runtime::benchmark::TaskScore& score) {
    static_cast<void>(write_all(STDERR_FILENO, as_line(score) + "\n"));
  };
  const auto strand = asio::make_strand(*local.pool);
  Interrupt interrupt(strand, course.cancel);
  auto future = asio::co_spawn(
      strand,
      runtime::run_suite(parts, {}, std::move(suite), request_of(wanted, local.config),
                         typed_ceilings, std::move(course)),
      asio::use_future);
  const auto measured = future.get();
  local.pool->stop();
  local.pool->join();
  if (const auto* refusal = std::get_if<runtime::Refusal>(&measured)) {
    return fail(exit_own_failure, refusal->detail);
  }
  const auto& report = std::get<runtime::benchmark::BenchmarkReport>(measured);
  if (const int failed = print(text_of(report, wanted.format)); failed != 0) return failed;
  if (interrupt.signal() == 0 && !report.tasks.empty() && !has_answers(report)) {
    return fail(exit_own_failure, "no program was run: " + report.tasks.front().error);
  }
  return interrupt.signal() != 0 ? exit_signal_base + interrupt.signal() : 0;
}

}  // namespace

int benchmark(const BenchmarkOptions& options, runtime::Environment environment) {
  auto suite = runtime::benchmark::find_suite(options.suite);
  if (!suite) return fail(exit_usage, "--suite: " + suite.error().message());
  auto local = start_local_runner(options.host, std::move(environment), {});
  if (!local) return fail_to_start(local.error().message());
  runtime::Logger logger(
      {.level = runtime::LogLevel::warning, .format = local->config.log_format, .write = {}});
  auto parts =
      make_agent(local->config, local->environment, *local->runner, agent::Lessons::off, logger);
  if (!parts) return fail(exit_own_failure, as_whom(parts.error()).message());
  if (const std::string why = why_not_taken(local->config, *parts, options.provider);
      !why.empty()) {
    return fail(exit_own_failure, why);
  }
  return measure(*local, *parts->runtime, logger, std::move(*suite), options);
}

}  // namespace server
