// Has a model solve a suite for a caller.
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

// What is passed by reference outlives the benchmark.
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

// As many of `suite` as `request` says, whose own name of a suite does not count here. No program
// has more time or memory than `ceilings`. It is one of the caller's programs, however many of its
// tasks go on; the refusal says that the caller has as many as it may.
boost::asio::awaitable<std::variant<benchmark::BenchmarkReport, Refusal>> run_suite(
    BenchmarkParts parts, Caller caller, benchmark::Suite suite, BenchmarkRequest request,
    Ceilings ceilings, BenchmarkCourse course);

}  // namespace runtime
