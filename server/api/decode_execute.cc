#include "server/api/decode_execute.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "jail/collect.h"
#include "jail/egress.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "server/api/decode_fields.h"
#include "server/api/decode_task.h"

namespace server {
namespace {

using runtime::RunRequest;
using runtime::json::Object;
using runtime::json::Value;

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

Complaint read_code(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || text->empty() || text->size() > runtime::max_code_bytes) {
    return "expected a string of 1 .. " + std::to_string(runtime::max_code_bytes) + " bytes";
  }
  request.code = *text;
  return std::nullopt;
}

Complaint read_language(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  const auto language = text == nullptr ? std::nullopt : runtime::language_named(*text);
  if (!language) return "expected python, bash, javascript or typescript";
  request.language = *language;
  return std::nullopt;
}

Complaint read_stdin(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  if (value.as_string() == nullptr) return "expected a string";
  request.standard_input = *value.as_string();
  return std::nullopt;
}

Complaint read_args(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const Complaint complaint =
      "expected a list of at most " + std::to_string(runtime::max_args) + " strings without NUL";
  const runtime::json::Array* list = value.as_array();
  if (list == nullptr || list->size() > runtime::max_args) return complaint;
  for (const Value& item : *list) {
    const std::string* text = item.as_string();
    if (text == nullptr || has_nul(*text)) return complaint;
    request.args.push_back(*text);
  }
  return std::nullopt;
}

Complaint read_env(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const Complaint complaint = "expected a map of at most " + std::to_string(runtime::max_env) +
                              " names (not empty, without = and NUL) to strings without NUL";
  const Object* map = value.as_object();
  if (map == nullptr || map->size() > runtime::max_env) return complaint;
  for (const auto& [name, item] : *map) {
    const std::string* text = item.as_string();
    const bool bad_name = name.empty() || has_nul(name) || name.find('=') != name.npos;
    if (bad_name || text == nullptr || has_nul(*text)) return complaint;
    request.env.emplace_back(name, *text);
  }
  return std::nullopt;
}

Complaint read_time(const Value& value, const runtime::RequestRules& rules, RunRequest& request) {
  return read_timeout(value, rules, request.timeout);
}

Complaint read_megabytes(const Value& value, const runtime::RequestRules& rules,
                         RunRequest& request) {
  return read_memory(value, rules, request.memory_limit_mb);
}

Complaint read_input_files(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  return read_files(value, request.files);
}

Complaint read_encoding(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || (*text != "utf-8" && *text != "base64")) return "expected utf-8 or base64";
  request.output_encoding =
      *text == "utf-8" ? runtime::OutputEncoding::utf8 : runtime::OutputEncoding::base64;
  return std::nullopt;
}

Complaint read_artifacts(const Value& value, const runtime::RequestRules&, RunRequest& request) {
  const Complaint complaint =
      "expected a list of at most " + std::to_string(runtime::max_artifact_globs) + " globs";
  const runtime::json::Array* list = value.as_array();
  if (list == nullptr || list->size() > runtime::max_artifact_globs) return complaint;
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return complaint;
    if (const auto checked = jail::check_glob(*item.as_string()); !checked) {
      return runtime::json::quoted(*item.as_string()) + ": " + checked.error().doing;
    }
    request.artifacts.push_back(*item.as_string());
  }
  return std::nullopt;
}

Complaint read_template(const Value& value, const runtime::RequestRules& rules,
                        RunRequest& request) {
  const std::string* name = value.as_string();
  const bool known = name != nullptr && (*name == runtime::no_template ||
                                         runtime::find_template(rules.templates, *name) != nullptr);
  if (!known) return "expected one of " + runtime::template_names(rules, std::nullopt);
  request.template_name = *name;
  return std::nullopt;
}

Complaint read_network(const Value& value, const runtime::RequestRules& rules,
                       RunRequest& request) {
  const char* const expected = "expected none or {\"allow\": [\"host:port\", ...]}";
  if (value.as_string() != nullptr && *value.as_string() == "none") return std::nullopt;
  const auto* object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("allow")) return expected;
  const auto* list = object->find("allow")->second.as_array();
  if (list == nullptr || list->empty()) return expected;
  if (list->size() > runtime::max_destinations) {
    return "allow: expected at most " + std::to_string(runtime::max_destinations) + " destinations";
  }
  if (rules.network.empty()) return "the operator allows no egress; expected none";
  std::vector<std::string> allow;
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return expected;
    if (const Complaint complaint = runtime::check_destination(*item.as_string(), rules)) {
      return "allow[" + std::to_string(allow.size()) + "]: " + *complaint;
    }
    allow.push_back(*item.as_string());
  }
  request.network = jail::Network::allow(std::move(allow));
  return std::nullopt;
}

constexpr Field<RunRequest> code_fields[] = {{"code", read_code},
                                             {"language", read_language},
                                             {"stdin", read_stdin},
                                             {"args", read_args},
                                             {"env", read_env},
                                             {"files", read_input_files},
                                             {"artifacts", read_artifacts},
                                             {"timeout_seconds", read_time},
                                             {"memory_limit_mb", read_megabytes},
                                             {"template", read_template},
                                             {"output_encoding", read_encoding},
                                             {"network", read_network}};

Complaint only_with_task(std::string_view name) {
  if (!is_task_field(name)) return std::nullopt;
  return "only a request with task has it, this one has code";
}

std::variant<RunRequest, Response> decode_code(const Object& body,
                                               const runtime::RequestRules& rules) {
  RunRequest request;
  request.timeout = rules.default_timeout;
  request.memory_limit_mb = rules.default_memory_limit_mb;
  const std::span<const Field<RunRequest>> fields(code_fields);
  if (const auto complaint = read_fields(body, fields, rules, only_with_task, request)) {
    return problem(400, *complaint);
  }
  if (const auto complaint = runtime::check_program(request, rules))
    return problem(400, *complaint);
  return request;
}

}  // namespace

bool is_code_field(std::string_view name) {
  return std::any_of(std::begin(code_fields), std::end(code_fields),
                     [&](const auto& field) { return field.name == name; });
}

Decoded decode_execute(std::string_view body, const runtime::RequestRules& rules) {
  const auto parsed = runtime::json::parse(body, "body");
  if (!parsed) return problem(400, parsed.error().message());
  const Object* object = parsed->as_object();
  if (object == nullptr) return problem(400, "body: expected a JSON object");
  const bool has_task = object->contains("task");
  if (object->contains("code") == has_task) {
    return problem(400, "body: expected exactly one of code and task");
  }
  if (has_task) {
    auto task = decode_task(*object, rules);
    if (auto* refusal = std::get_if<Response>(&task)) return std::move(*refusal);
    return std::move(std::get<runtime::agent::TaskRequest>(task));
  }
  auto code = decode_code(*object, rules);
  if (auto* refusal = std::get_if<Response>(&code)) return std::move(*refusal);
  return std::move(std::get<RunRequest>(code));
}

}  // namespace server
