// A request with `task` into a TaskRequest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "server/api/decode_execute.h"
#include "server/api/decode_fields.h"
#include "server/http/message.h"

namespace server {

inline constexpr std::size_t max_task_characters = 10'000;
inline constexpr std::size_t max_tests_bytes = 256u << 10;

// The Response is 400 for a bad field, and 424 where there is no provider for it.
std::variant<runtime::agent::TaskRequest, Response> decode_task(const runtime::json::Object& body,
                                                                const ExecuteRules& rules);

// What a benchmark takes as well.
Complaint read_attempts(const runtime::json::Value& value, std::uint32_t& attempts);
Complaint read_provider(const runtime::json::Value& value, const ExecuteRules& rules,
                        std::string& provider);
Complaint read_model(const runtime::json::Value& value, std::string& model);

// 424 where there is no provider, or not the one that is named and known.
std::optional<Response> refuse_without_provider(const std::string& provider,
                                                const ExecuteRules& rules);

// Whether a request with `task` may have it.
bool is_task_field(std::string_view name);

// "expected one of anthropic, groq".
std::string unknown_provider(const TaskRules& rules);

// The task's rules hold at every front door.
bool is_task_text(std::string_view text);

}  // namespace server
