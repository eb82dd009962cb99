#include "server/api/decode.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/json/reader.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"

namespace server {
namespace {

using runtime::Complaint;
using runtime::RequestRules;
using runtime::agent::TaskRequest;
using runtime::json::Object;
using runtime::json::Value;

Complaint only_with_task(std::string_view name) {
  if (runtime::find_field(runtime::task_fields(), name) == nullptr) return std::nullopt;
  return "only a request with task has it, this one has code";
}

Complaint only_with_code(std::string_view name) {
  if (runtime::find_field(runtime::program_fields(), name) == nullptr) return std::nullopt;
  return "only a request with code has it, this one has task";
}

// 424 where there is no provider, or not the one that is named and known.
std::optional<Response> refuse_without_provider(const std::string& provider,
                                                const RequestRules& rules) {
  if (!rules.why_no_task.empty()) return problem(424, rules.why_no_task);
  if (provider.empty()) return std::nullopt;
  const std::string& why = rules.tasks.providers.find(provider)->second;
  if (why.empty()) return std::nullopt;
  return problem(424, "provider: " + why);
}

Decoded decode_program(const Object& body, const RequestRules& rules) {
  auto request = runtime::default_program(rules);
  auto complaint =
      runtime::read_fields(body, runtime::program_fields(), rules, only_with_task, request);
  if (!complaint) complaint = runtime::check_program(request, rules);
  if (complaint) return problem(400, *complaint);
  return request;
}

Decoded decode_task(const Object& body, const RequestRules& rules) {
  TaskRequest request = runtime::default_task(rules);
  const auto complaint =
      runtime::read_fields(body, runtime::task_fields(), rules, only_with_code, request);
  if (complaint) return problem(400, *complaint);
  const auto own_name = runtime::file_name_of(runtime::Language::python, {});
  if (const auto files = runtime::check_input_files(request.files, own_name, {}); !files) {
    return problem(400, "files: " + files.error().doing);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace

std::variant<Value, Response> object_of(std::string_view body) {
  auto parsed = runtime::json::parse(body, "body");
  if (!parsed) return problem(400, parsed.error().message());
  if (parsed->as_object() == nullptr) return problem(400, "body: expected a JSON object");
  return std::move(*parsed);
}

Decoded decode_execute(std::string_view body, const RequestRules& rules) {
  auto read = object_of(body);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  const Object& object = *std::get<Value>(read).as_object();
  const bool has_task = object.contains("task");
  if (object.contains("code") == has_task) {
    return problem(400, "body: expected exactly one of code and task");
  }
  return has_task ? decode_task(object, rules) : decode_program(object, rules);
}

ExecuteRequest request_of(Decoded decoded) {
  if (auto* task = std::get_if<TaskRequest>(&decoded)) return std::move(*task);
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
  auto request = runtime::default_benchmark(rules);
  if (auto refusal = decode_into(body, runtime::benchmark_fields(), rules, request)) {
    return std::move(*refusal);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace server
