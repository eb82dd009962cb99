// Reads the objects that POST /execute, the WebSocket and the benchmark take into requests.
#pragma once

#include <variant>

#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/request_rules.h"

namespace runtime {

// The refusals: a field is wrong; or, where all are right, there is no provider for the request.
// Every member of `body` is read or refused.

// Reads a program where `body` has `code`, and a task where it has `task`; it must have exactly
// one.
using ExecuteRead = std::variant<RunRequest, agent::TaskRequest, Refusal>;
ExecuteRead read_execute(const json::Object& body, const RequestRules& rules);

std::variant<BenchmarkRequest, Refusal> read_benchmark(const json::Object& body,
                                                       const RequestRules& rules);

}  // namespace runtime
