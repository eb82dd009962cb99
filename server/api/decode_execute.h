// The body of POST /execute into a RunRequest or a TaskRequest, with every rule that the interface
// documents.
#pragma once

#include <string_view>
#include <variant>

#include "runtime/agent/task.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/request_rules.h"
#include "server/http/message.h"

namespace server {

// The Response is a problem for the client, 400 or 424. Nothing in the body is ever ignored.
using Decoded = std::variant<runtime::RunRequest, runtime::agent::TaskRequest, Response>;
Decoded decode_execute(std::string_view body, const runtime::RequestRules& rules);

// Whether a request with `code` may have it.
bool is_code_field(std::string_view name);

}  // namespace server
