#include "runtime/service/execute_request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/task_rules.h"

namespace runtime {
namespace {

using agent::TaskRequest;
using json::Object;

Complaint only_with_task(std::string_view name) {
  if (find_field(task_fields(), name) == nullptr) return std::nullopt;
  return "only a request with task has it, this one has code";
}

Complaint only_with_code(std::string_view name) {
  if (find_field(program_fields(), name) == nullptr) return std::nullopt;
  return "only a request with code has it, this one has task";
}

// An unknown name may be a mistyped `code` or `task`, one of which every request must have.
Refusal neither_code_nor_task(const Object& body) {
  std::vector<std::string> known = names_in(program_fields());
  for (const auto& row : task_fields()) {
    if (find_field(program_fields(), row.field.name) == nullptr) known.emplace_back(row.field.name);
  }
  for (const auto& [name, value] : body) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return refuse_name(name, known, "unknown field");
    }
  }
  return {.code = RefusalCode::missing_field,
          .detail = "body: expected exactly one of code and task"};
}

// `provider` must be empty or a known name.
std::optional<Refusal> refuse_without_provider(const std::string& provider,
                                               const RequestRules& rules) {
  std::string detail = rules.why_no_task;
  if (detail.empty() && !provider.empty()) {
    const std::string why = why_not_provider(rules.tasks, provider);
    if (!why.empty()) detail = "provider: " + why;
  }
  if (detail.empty()) return std::nullopt;
  return Refusal{.code = RefusalCode::no_provider, .detail = std::move(detail)};
}

ExecuteRead program_of(const Object& body, const RequestRules& rules) {
  auto request = default_program(rules);
  if (auto refusal = read_fields(body, program_fields(), rules, request, only_with_task)) {
    return std::move(*refusal);
  }
  if (auto refusal = check_program(request, rules)) return std::move(*refusal);
  return request;
}

ExecuteRead task_of(const Object& body, const RequestRules& rules) {
  TaskRequest request = default_task(rules);
  if (auto refusal = read_fields(body, task_fields(), rules, request, only_with_code)) {
    return std::move(*refusal);
  }
  const auto own_name = file_name_of(Language::python, {});
  if (const auto files = check_input_files(request.files, own_name, {}); !files) {
    return refuse_request("files: " + files.error().doing);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace

ExecuteRead read_execute(const Object& body, const RequestRules& rules) {
  const bool has_task = body.contains("task");
  const bool has_code = body.contains("code");
  if (!has_task && !has_code) return neither_code_nor_task(body);
  if (has_task && has_code) return refuse_request("body: expected exactly one of code and task");
  return has_task ? task_of(body, rules) : program_of(body, rules);
}

std::variant<BenchmarkRequest, Refusal> read_benchmark(const Object& body,
                                                       const RequestRules& rules) {
  auto request = default_benchmark(rules);
  if (auto refusal = read_fields(body, benchmark_fields(), rules, request)) {
    return std::move(*refusal);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace runtime
