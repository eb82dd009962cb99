// What POST /execute, the WebSocket and the benchmark take, from an object to a request.
#pragma once

#include <variant>

#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "runtime/refusals/refusal.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/request_fields.h"
#include "runtime/service/request_rules.h"

namespace runtime {

// The refusals: a field that is wrong, and, where nothing is, that there is no provider for it.
// Every member of `body` is read or refused.

// A program where `body` has `code`, a task where it has `task`; it has one of the two.
using ExecuteRead = std::variant<RunRequest, agent::TaskRequest, Refusal>;
ExecuteRead read_execute(const json::Object& body, const RequestRules& rules);

std::variant<BenchmarkRequest, Refusal> read_benchmark(const json::Object& body,
                                                       const RequestRules& rules);

}  // namespace runtime
