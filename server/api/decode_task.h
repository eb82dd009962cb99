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

// The Response is 400 for a bad field, and 424 where there is no provider for it.
std::variant<runtime::agent::TaskRequest, Response> decode_task(const runtime::json::Object& body,
                                                                const runtime::RequestRules& rules);

// What a benchmark takes as well.
Complaint read_attempts(const runtime::json::Value& value, std::uint32_t& attempts);
Complaint read_provider(const runtime::json::Value& value, const runtime::RequestRules& rules,
                        std::string& provider);
Complaint read_model(const runtime::json::Value& value, std::string& model);

// 424 where there is no provider, or not the one that is named and known.
std::optional<Response> refuse_without_provider(const std::string& provider,
                                                const runtime::RequestRules& rules);

// Whether a request with `task` may have it.
bool is_task_field(std::string_view name);

}  // namespace server
