// Reads bodies of requests into values, by the fields of runtime/service/request_fields.h.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "runtime/agent/task.h"
#include "runtime/json/reader.h"
#include "runtime/sandbox/run_request.h"
#include "runtime/service/request_fields.h"
#include "server/http/message.h"

namespace server {

// The Response is a problem for the client: 400 for a bad field, 424 where there is no provider.
// A member of the body that is not known is refused.
using Decoded = std::variant<runtime::RunRequest, runtime::agent::TaskRequest, Response>;
Decoded decode_execute(std::string_view body, const runtime::RequestRules& rules);

using ExecuteRequest = std::variant<runtime::RunRequest, runtime::agent::TaskRequest>;
// Converts a valid body: `decoded` must not be a Response.
ExecuteRequest request_of(Decoded decoded);

// Returns the body, which must be an object, or a problem.
std::variant<runtime::json::Value, Response> object_of(std::string_view body);

// Reads an object that has only members in `fields` into `request`, which has the defaults. Returns
// a problem where the object is invalid.
template <class Request>
std::optional<Response> decode_into(const runtime::json::Object& object,
                                    std::span<const runtime::RequestField<Request>> fields,
                                    const runtime::RequestRules& rules, Request& request) {
  const auto refusal = runtime::read_fields(object, fields, rules, request);
  if (refusal) return problem(*refusal);
  return std::nullopt;
}

// The same for the text of a body.
template <class Request>
std::optional<Response> decode_into(std::string_view body,
                                    std::span<const runtime::RequestField<Request>> fields,
                                    const runtime::RequestRules& rules, Request& request) {
  auto read = object_of(body);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  return decode_into(*std::get<runtime::json::Value>(read).as_object(), fields, rules, request);
}

// Returns a problem where there is a body that is not an empty object.
std::optional<Response> refuse_fields(std::string_view body, const runtime::RequestRules& rules);

std::variant<runtime::BenchmarkRequest, Response> decode_benchmark(
    std::string_view body, const runtime::RequestRules& rules);

}  // namespace server
