// What became of a task, as JSON text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/agent/task.h"
#include "runtime/service/execution.h"

namespace runtime {

// Of what a program wrote, for each attempt in a history; what solved the task is shown whole in
// `output`.
inline constexpr std::size_t max_history_output_bytes = 64u << 10;

// The result with what the program wrote cut to that.
RunResult shortened(RunResult result);

std::string encode_attempt(const agent::Attempt& attempt, const Execution& execution);

std::string encode_task(const agent::TaskResult& result, const Execution& execution,
                        std::chrono::system_clock::time_point completed);

}  // namespace runtime
