// Bodies of requests into values, by the fields of runtime/service/request_fields.h.
#pragma once

#include <string_view>
#include <variant>

#include "runtime/agent/task.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/request_fields.h"
#include "server/http/message.h"

namespace server {

// The Response is a problem for the client: 400 for a bad field, 424 where there is no provider for
// it. Nothing in the body is ever ignored.
using Decoded = std::variant<runtime::RunRequest, runtime::agent::TaskRequest, Response>;
Decoded decode_execute(std::string_view body, const runtime::RequestRules& rules);

using ExecuteRequest = std::variant<runtime::RunRequest, runtime::agent::TaskRequest>;
// Of a body that is fine: `decoded` is no Response.
ExecuteRequest request_of(Decoded decoded);

std::variant<runtime::BenchmarkRequest, Response> decode_benchmark(
    std::string_view body, const runtime::RequestRules& rules);

}  // namespace server
