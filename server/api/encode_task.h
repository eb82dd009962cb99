// What became of a task, as JSON text.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/agent/task.h"
#include "server/api/encode.h"

namespace server {

// Of what a program wrote, for each attempt in a history; what solved the task is shown whole in
// `output`.
inline constexpr std::size_t max_history_output_bytes = 64u << 10;

std::string encode_attempt(const runtime::agent::Attempt& attempt, const Job& job);

std::string encode_task(const runtime::agent::TaskResult& result, const Job& job,
                        std::chrono::system_clock::time_point completed);

}  // namespace server
