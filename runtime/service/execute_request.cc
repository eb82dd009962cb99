#include "runtime/service/execute_request.h"

#include <optional>
#include <string>
#include <utility>

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

Refusal refused_field(std::string detail) {
  return {.reason = Refusal::Reason::invalid, .detail = std::move(detail)};
}

// `provider`: empty, or one that is known.
std::optional<Refusal> refuse_without_provider(const std::string& provider,
                                               const RequestRules& rules) {
  std::string detail = rules.why_no_task;
  if (detail.empty() && !provider.empty()) {
    const std::string why = why_not_provider(rules.tasks, provider);
    if (!why.empty()) detail = "provider: " + why;
  }
  if (detail.empty()) return std::nullopt;
  return Refusal{.reason = Refusal::Reason::no_provider, .detail = std::move(detail)};
}

ExecuteRead program_of(const Object& body, const RequestRules& rules) {
  auto request = default_program(rules);
  auto complaint = read_fields(body, program_fields(), rules, only_with_task, request);
  if (!complaint) complaint = check_program(request, rules);
  if (complaint) return refused_field(*complaint);
  return request;
}

ExecuteRead task_of(const Object& body, const RequestRules& rules) {
  TaskRequest request = default_task(rules);
  const auto complaint = read_fields(body, task_fields(), rules, only_with_code, request);
  if (complaint) return refused_field(*complaint);
  const auto own_name = file_name_of(Language::python, {});
  if (const auto files = check_input_files(request.files, own_name, {}); !files) {
    return refused_field("files: " + files.error().doing);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace

ExecuteRead read_execute(const Object& body, const RequestRules& rules) {
  const bool has_task = body.contains("task");
  if (body.contains("code") == has_task) {
    return refused_field("body: expected exactly one of code and task");
  }
  return has_task ? task_of(body, rules) : program_of(body, rules);
}

std::variant<BenchmarkRequest, Refusal> read_benchmark(const Object& body,
                                                       const RequestRules& rules) {
  auto request = default_benchmark(rules);
  const auto nowhere_else = [](std::string_view) { return Complaint(); };
  const auto complaint = read_fields(body, benchmark_fields(), rules, +nowhere_else, request);
  if (complaint) return refused_field(*complaint);
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace runtime
