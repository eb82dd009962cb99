// The fields of every request, each described once: name, type, bounds, default, purpose, and the
// member of the request that it sets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtime/agent/task.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/field.h"

namespace runtime {

struct BenchmarkRequest {
  std::string suite = "quick";
  std::optional<std::uint32_t> max_problems;  // nullopt: the whole suite
  std::uint32_t max_attempts = 3;
  std::string provider;
  std::string model;
};

// The fields of a request with `code`, of one with `task`, and of a benchmark, in the order in
// which refusals list them.
std::span<const RequestField<RunRequest>> program_fields() noexcept;
std::span<const RequestField<agent::TaskRequest>> task_fields() noexcept;
std::span<const RequestField<BenchmarkRequest>> benchmark_fields() noexcept;

// Requests with the operator's defaults for fields that are left out.
RunRequest default_program(const RequestRules& rules);
agent::TaskRequest default_task(const RequestRules& rules);
BenchmarkRequest default_benchmark(const RequestRules& rules);

}  // namespace runtime
