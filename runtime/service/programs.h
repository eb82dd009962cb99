// Runs one program as a job: recorded before it starts, counted and kept after it ended.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/observe/metrics.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/runner.h"
#include "runtime/service/execution.h"
#include "runtime/service/services.h"

namespace runtime {

struct ProgramOutcome {
  Status status;
  std::string result;  // in the form of encode_result()
};

void count_program(Metrics& metrics, const RunResult& result, std::string_view language,
                   std::chrono::microseconds total);

// The refusal for a caller with as many programs as it may have; counts it in `metrics`.
Refusal too_many_of_a_caller(Metrics& metrics, const Runner& runner);

boost::asio::awaitable<std::variant<ProgramOutcome, Refusal>> run_program(
    Services services, Caller caller, Execution execution, RunRequest request, RunOptions options);

}  // namespace runtime
