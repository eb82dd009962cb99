#include "server/api/decode.h"

#include <optional>
#include <utility>

#include "runtime/json/reader.h"
#include "runtime/service/execute_request.h"

namespace server {

using runtime::Refusal;
using runtime::RequestRules;
using runtime::json::Object;
using runtime::json::Value;

std::variant<Value, Response> object_of(std::string_view body) {
  auto parsed = runtime::json::parse(body, "body");
  if (!parsed) return problem(RefusalCode::bad_json, parsed.error().message());
  if (parsed->as_object() == nullptr)
    return problem(RefusalCode::bad_json, "body: expected a JSON object");
  return std::move(*parsed);
}

Decoded decode_execute(std::string_view body, const RequestRules& rules) {
  auto read = object_of(body);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  const Object& object = *std::get<Value>(read).as_object();
  auto request = runtime::read_execute(object, rules);
  if (const auto* refusal = std::get_if<Refusal>(&request)) return problem(*refusal);
  if (auto* task = std::get_if<runtime::agent::TaskRequest>(&request)) return std::move(*task);
  return std::get<runtime::RunRequest>(std::move(request));
}

ExecuteRequest request_of(Decoded decoded) {
  if (auto* task = std::get_if<runtime::agent::TaskRequest>(&decoded)) return std::move(*task);
  return std::move(std::get<runtime::RunRequest>(decoded));
}

std::optional<Response> refuse_fields(std::string_view body, const RequestRules& rules) {
  struct Nothing {};
  if (body.empty()) return std::nullopt;
  Nothing nothing;
  return decode_into<Nothing>(body, {}, rules, nothing);
}

std::variant<runtime::BenchmarkRequest, Response> decode_benchmark(std::string_view body,
                                                                   const RequestRules& rules) {
  auto read = object_of(body);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  const Object& object = *std::get<Value>(read).as_object();
  auto request = runtime::read_benchmark(object, rules);
  if (const auto* refusal = std::get_if<Refusal>(&request)) return problem(*refusal);
  return std::get<runtime::BenchmarkRequest>(std::move(request));
}

}  // namespace server
