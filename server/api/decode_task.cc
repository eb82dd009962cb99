#include "server/api/decode_task.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/task_rules.h"
#include "server/api/decode_fields.h"

namespace server {
namespace {

namespace agent = runtime::agent;
using agent::TaskRequest;
using runtime::json::Object;
using runtime::json::Value;

constexpr std::string_view expected_bool = "expected true or false";

Complaint read_task(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || !runtime::is_task_text(*text)) {
    return "expected a string of 1 .. " + std::to_string(runtime::max_task_characters) +
           " characters";
  }
  request.task = *text;
  return std::nullopt;
}

Complaint read_candidates(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  if (!is_integer_in(value, 1, agent::most_candidates)) {
    return "expected an integer 1 .. " + std::to_string(agent::most_candidates);
  }
  request.candidates = static_cast<std::uint32_t>(*value.as_integer());
  return std::nullopt;
}

Complaint read_tests(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || text->size() > runtime::max_tests_bytes) {
    return "expected a string of at most " + std::to_string(runtime::max_tests_bytes) + " bytes";
  }
  request.tests = *text;
  return std::nullopt;
}

Complaint read_time(const Value& value, const runtime::RequestRules& rules, TaskRequest& request) {
  return read_timeout(value, rules, request.timeout);
}

Complaint read_megabytes(const Value& value, const runtime::RequestRules& rules,
                         TaskRequest& request) {
  return read_memory(value, rules, request.memory_limit_mb);
}

Complaint read_input_files(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  return read_files(value, request.files);
}

Complaint read_swarm(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  if (value.as_bool() == nullptr) return std::string(expected_bool);
  request.team = *value.as_bool() ? agent::Team::swarm : agent::Team::coder;
  return std::nullopt;
}

Complaint read_write_tests(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  if (value.as_bool() == nullptr) return std::string(expected_bool);
  request.tests_by_model =
      *value.as_bool() ? agent::TestsByModel::first : agent::TestsByModel::none;
  return std::nullopt;
}

Complaint read_lessons(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  if (value.as_bool() == nullptr) return std::string(expected_bool);
  request.lessons = *value.as_bool() ? agent::Lessons::used : agent::Lessons::off;
  return std::nullopt;
}

Complaint read_most_attempts(const Value& value, const runtime::RequestRules&,
                             TaskRequest& request) {
  return read_attempts(value, request.max_attempts);
}

Complaint read_its_provider(const Value& value, const runtime::RequestRules& rules,
                            TaskRequest& request) {
  return read_provider(value, rules, request.provider);
}

Complaint read_its_model(const Value& value, const runtime::RequestRules&, TaskRequest& request) {
  return read_model(value, request.model);
}

constexpr Field<TaskRequest> task_fields[] = {{"task", read_task},
                                              {"max_attempts", read_most_attempts},
                                              {"tests", read_tests},
                                              {"write_tests", read_write_tests},
                                              {"files", read_input_files},
                                              {"timeout_seconds", read_time},
                                              {"memory_limit_mb", read_megabytes},
                                              {"swarm", read_swarm},
                                              {"candidates", read_candidates},
                                              {"lessons", read_lessons},
                                              {"provider", read_its_provider},
                                              {"model", read_its_model}};

Complaint only_with_code(std::string_view name) {
  if (!is_code_field(name)) return std::nullopt;
  return "only a request with code has it, this one has task";
}

}  // namespace

Complaint read_attempts(const Value& value, std::uint32_t& attempts) {
  if (!is_integer_in(value, 1, agent::most_attempts)) {
    return "expected an integer 1 .. " + std::to_string(agent::most_attempts);
  }
  attempts = static_cast<std::uint32_t>(*value.as_integer());
  return std::nullopt;
}

Complaint read_provider(const Value& value, const runtime::RequestRules& rules,
                        std::string& provider) {
  const std::string* name = value.as_string();
  if (name == nullptr || !rules.tasks.providers.contains(*name)) {
    return runtime::unknown_provider(rules.tasks);
  }
  provider = *name;
  return std::nullopt;
}

Complaint read_model(const Value& value, std::string& model) {
  const std::string* name = value.as_string();
  if (name == nullptr || !runtime::is_model_name(*name)) {
    return "expected a model's name without blanks and ..";
  }
  model = *name;
  return std::nullopt;
}

std::optional<Response> refuse_without_provider(const std::string& provider,
                                                const runtime::RequestRules& rules) {
  if (!rules.why_no_task.empty()) return problem(424, rules.why_no_task);
  if (provider.empty()) return std::nullopt;
  const std::string& why = rules.tasks.providers.find(provider)->second;
  if (why.empty()) return std::nullopt;
  return problem(424, "provider: " + why);
}

bool is_task_field(std::string_view name) {
  return std::any_of(std::begin(task_fields), std::end(task_fields),
                     [&](const auto& field) { return field.name == name; });
}

std::variant<TaskRequest, Response> decode_task(const Object& body,
                                                const runtime::RequestRules& rules) {
  TaskRequest request;
  request.timeout = rules.default_timeout;
  request.memory_limit_mb = rules.default_memory_limit_mb;
  request.max_attempts = rules.tasks.default_max_attempts;
  const std::span<const Field<TaskRequest>> fields(task_fields);
  if (const auto complaint = read_fields(body, fields, rules, only_with_code, request)) {
    return problem(400, *complaint);
  }
  const auto own_name = runtime::file_name_of(runtime::Language::python, {});
  if (const auto files = runtime::check_input_files(request.files, own_name, {}); !files) {
    return problem(400, "files: " + files.error().doing);
  }
  if (auto refusal = refuse_without_provider(request.provider, rules)) return std::move(*refusal);
  return request;
}

}  // namespace server
