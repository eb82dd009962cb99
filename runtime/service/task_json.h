// The result of a task as JSON text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/agent/task.h"
#include "runtime/service/execution.h"

namespace runtime {

// The bound on a program's output in each attempt of a history; `output` has the whole output of
// the program that solved the task.
inline constexpr std::size_t max_history_output_bytes = 64u << 10;

// Returns the result with its output cut to that bound.
RunResult shortened(RunResult result);

std::string encode_attempt(const agent::Attempt& attempt, const Execution& execution);

std::string encode_task(const agent::TaskResult& result, const Execution& execution,
                        std::chrono::system_clock::time_point completed);

}  // namespace runtime
