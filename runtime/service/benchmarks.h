// Has a model solve a suite on behalf of a caller.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <variant>

#include "runtime/agent/agent_runtime.h"
#include "runtime/benchmark/benchmark.h"
#include "runtime/benchmark/suite.h"
#include "runtime/config/config.h"
#include "runtime/observe/logger.h"
#include "runtime/observe/metrics.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/principal.h"
#include "runtime/service/request_fields.h"

namespace runtime {

// The referenced objects must outlive the benchmark.
struct BenchmarkParts {
  Runner& runner;
  agent::AgentRuntime& agent;
  Metrics& metrics;
  Logger& logger;
};

struct BenchmarkCourse {
  Cancel cancel;
  // As BenchmarkOptions::on_score.
  std::function<void(const benchmark::TaskScore&)> on_score{};
};

// Runs as much of `suite` as `request` says; the suite's name in `request` is not read. No program
// has more time or memory than `ceilings`. A benchmark counts as one of the caller's programs,
// however many of its tasks run at once; the refusal says that the caller has as many as it may.
boost::asio::awaitable<std::variant<benchmark::BenchmarkReport, Refusal>> run_suite(
    BenchmarkParts parts, Caller caller, benchmark::Suite suite, BenchmarkRequest request,
    Ceilings ceilings, BenchmarkCourse course);

}  // namespace runtime
