#include "server/api/decode_execute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "jail/collect.h"
#include "runtime/json/base64.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"

namespace server {
namespace {

using runtime::RunRequest;
using runtime::json::Object;
using runtime::json::Value;

using Complaint = std::optional<std::string>;  // what is expected instead, for the client

std::string seconds_text(std::chrono::milliseconds duration) {
  runtime::json::Writer writer;
  writer.number(static_cast<double>(duration.count()) / 1000);
  return std::move(writer).take();
}

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const auto* number = value.as_double()) return *number;
  return std::nullopt;
}

bool is_integer_in(const Value& value, std::int64_t low, std::int64_t high) {
  const auto* integer = value.as_integer();
  return integer != nullptr && *integer >= low && *integer <= high;
}

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

Complaint read_code(const Value& value, const ExecuteRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || text->empty() || text->size() > max_code_bytes) {
    return "expected a string of 1 .. " + std::to_string(max_code_bytes) + " bytes";
  }
  request.code = *text;
  return std::nullopt;
}

Complaint read_language(const Value& value, const ExecuteRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  const auto language = text == nullptr ? std::nullopt : runtime::language_named(*text);
  if (!language) return "expected python, bash, javascript or typescript";
  request.language = *language;
  return std::nullopt;
}

Complaint read_stdin(const Value& value, const ExecuteRules&, RunRequest& request) {
  if (value.as_string() == nullptr) return "expected a string";
  request.standard_input = *value.as_string();
  return std::nullopt;
}

Complaint read_args(const Value& value, const ExecuteRules&, RunRequest& request) {
  const Complaint complaint =
      "expected a list of at most " + std::to_string(max_args) + " strings without NUL";
  const runtime::json::Array* list = value.as_array();
  if (list == nullptr || list->size() > max_args) return complaint;
  for (const Value& item : *list) {
    const std::string* text = item.as_string();
    if (text == nullptr || has_nul(*text)) return complaint;
    request.args.push_back(*text);
  }
  return std::nullopt;
}

Complaint read_env(const Value& value, const ExecuteRules&, RunRequest& request) {
  const Complaint complaint = "expected a map of at most " + std::to_string(max_env) +
                              " names (not empty, without = and NUL) to strings without NUL";
  const Object* map = value.as_object();
  if (map == nullptr || map->size() > max_env) return complaint;
  for (const auto& [name, item] : *map) {
    const std::string* text = item.as_string();
    const bool bad_name = name.empty() || has_nul(name) || name.find('=') != name.npos;
    if (bad_name || text == nullptr || has_nul(*text)) return complaint;
    request.env.emplace_back(name, *text);
  }
  return std::nullopt;
}

Complaint read_timeout(const Value& value, const ExecuteRules& rules, RunRequest& request) {
  const auto seconds = number_of(value);
  const double highest = static_cast<double>(rules.ceilings.timeout.count()) / 1000;
  const double lowest = static_cast<double>(runtime::min_timeout.count()) / 1000;
  if (!seconds || !(*seconds >= lowest && *seconds <= highest)) {
    return "expected a number " + seconds_text(runtime::min_timeout) + " .. " +
           seconds_text(rules.ceilings.timeout);
  }
  request.timeout = std::chrono::milliseconds(std::llround(*seconds * 1000));
  return std::nullopt;
}

Complaint read_memory(const Value& value, const ExecuteRules& rules, RunRequest& request) {
  if (!is_integer_in(value, runtime::min_memory_limit_mb, rules.ceilings.memory_limit_mb)) {
    return "expected an integer " + std::to_string(runtime::min_memory_limit_mb) + " .. " +
           std::to_string(rules.ceilings.memory_limit_mb);
  }
  request.memory_limit_mb = static_cast<std::uint32_t>(*value.as_integer());
  return std::nullopt;
}

Complaint read_encoding(const Value& value, const ExecuteRules&, RunRequest& request) {
  const std::string* text = value.as_string();
  if (text == nullptr || (*text != "utf-8" && *text != "base64")) return "expected utf-8 or base64";
  request.output_encoding =
      *text == "utf-8" ? runtime::OutputEncoding::utf8 : runtime::OutputEncoding::base64;
  return std::nullopt;
}

// The content of one of `files`: a string, or {"base64": "..."}.
std::optional<std::string> content_of(const Value& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  const Object* object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("base64")) return std::nullopt;
  const std::string* text = object->begin()->second.as_string();
  return text == nullptr ? std::nullopt : runtime::json::decode_base64(*text);
}

Complaint read_files(const Value& value, const ExecuteRules&, RunRequest& request) {
  const Object* map = value.as_object();
  if (map == nullptr) {
    return "expected a map of relative paths to a string or {\"base64\": \"...\"} each";
  }
  for (const auto& [path, item] : *map) {
    auto content = content_of(item);
    if (!content) {
      return runtime::json::quoted(path) +
             ": expected a string, or {\"base64\": \"...\"} with padded base64 (RFC 4648)";
    }
    request.files.push_back({path, std::move(*content)});
  }
  return std::nullopt;
}

Complaint read_artifacts(const Value& value, const ExecuteRules&, RunRequest& request) {
  const Complaint complaint =
      "expected a list of at most " + std::to_string(max_artifact_globs) + " globs";
  const runtime::json::Array* list = value.as_array();
  if (list == nullptr || list->size() > max_artifact_globs) return complaint;
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return complaint;
    if (const auto checked = jail::check_glob(*item.as_string()); !checked) {
      return runtime::json::quoted(*item.as_string()) + ": " + checked.error().doing;
    }
    request.artifacts.push_back(*item.as_string());
  }
  return std::nullopt;
}

// "none, data, python": of all languages, or of one.
std::string template_names(const ExecuteRules& rules, std::optional<runtime::Language> language) {
  std::string names(runtime::no_template);
  for (const runtime::Template& one : rules.templates) {
    if (!language || one.language == *language) names += ", " + one.name;
  }
  return names;
}

Complaint read_template(const Value& value, const ExecuteRules& rules, RunRequest& request) {
  const std::string* name = value.as_string();
  const bool known = name != nullptr && (*name == runtime::no_template ||
                                         runtime::find_template(rules.templates, *name) != nullptr);
  if (!known) return "expected one of " + template_names(rules, std::nullopt);
  request.template_name = *name;
  return std::nullopt;
}

// The feature behind it comes later. A value that asks for nothing is fine until then.
Complaint read_network(const Value& value, const ExecuteRules&, RunRequest&) {
  if (value.as_object() != nullptr) return "egress is not available yet; expected none";
  if (value.as_string() == nullptr || *value.as_string() != "none") return "expected none";
  return std::nullopt;
}

Complaint check_task(const Value& value, const ExecuteRules&, RunRequest&) {
  const std::string* text = value.as_string();
  const auto characters =
      text == nullptr ? 0 : std::count_if(text->begin(), text->end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      });
  if (characters < 1 || characters > 10'000) return "expected a string of 1 .. 10000 characters";
  return std::nullopt;
}

Complaint check_attempts(const Value& value, const ExecuteRules&, RunRequest&) {
  if (!is_integer_in(value, 1, 10)) return "expected an integer 1 .. 10";
  return std::nullopt;
}

Complaint check_candidates(const Value& value, const ExecuteRules&, RunRequest&) {
  if (!is_integer_in(value, 1, 8)) return "expected an integer 1 .. 8";
  return std::nullopt;
}

Complaint check_string(const Value& value, const ExecuteRules&, RunRequest&) {
  if (value.as_string() == nullptr) return "expected a string";
  return std::nullopt;
}

Complaint check_bool(const Value& value, const ExecuteRules&, RunRequest&) {
  if (value.as_bool() == nullptr) return "expected true or false";
  return std::nullopt;
}

struct Field {
  std::string_view name;
  Complaint (*read)(const Value&, const ExecuteRules&, RunRequest&);
};

constexpr Field code_fields[] = {{"code", read_code},
                                 {"language", read_language},
                                 {"stdin", read_stdin},
                                 {"args", read_args},
                                 {"env", read_env},
                                 {"files", read_files},
                                 {"artifacts", read_artifacts},
                                 {"timeout_seconds", read_timeout},
                                 {"memory_limit_mb", read_memory},
                                 {"template", read_template},
                                 {"output_encoding", read_encoding},
                                 {"network", read_network}};

constexpr Field task_fields[] = {{"task", check_task},       {"max_attempts", check_attempts},
                                 {"tests", check_string},    {"timeout_seconds", read_timeout},
                                 {"swarm", check_bool},      {"candidates", check_candidates},
                                 {"provider", check_string}, {"model", check_string}};

std::string names_of(std::span<const Field> fields) {
  std::string names;
  for (const Field& field : fields) {
    if (!names.empty()) names += ", ";
    names += field.name;
  }
  return names;
}

Complaint read_fields(const Object& body, std::span<const Field> fields, const ExecuteRules& rules,
                      RunRequest& request) {
  for (const auto& [name, value] : body) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&name = name](const Field& f) { return f.name == name; });
    if (field == fields.end()) {
      return runtime::json::quoted(name) + ": unknown field; known are " + names_of(fields);
    }
    if (const auto complaint = field->read(value, rules, request)) return name + ": " + *complaint;
  }
  return std::nullopt;
}

Complaint check_template(const RunRequest& request, const ExecuteRules& rules) {
  const auto* named = runtime::find_template(rules.templates, request.template_name);
  if (named == nullptr || named->language == request.language) return std::nullopt;
  return "template: " + named->name + " runs " + std::string(runtime::name_of(named->language)) +
         "; for " + std::string(runtime::name_of(request.language)) + " expected one of " +
         template_names(rules, request.language);
}

Complaint check_language(const RunRequest& request, const ExecuteRules& rules) {
  const auto why = rules.why_no_language.find(request.language);
  if (why == rules.why_no_language.end()) return std::nullopt;
  const auto* meant = runtime::find_template(rules.templates, runtime::template_of(request));
  if (meant != nullptr && !meant->rootfs.empty()) return std::nullopt;  // it has its own root
  return "language: " + why->second;
}

// What holds between fields, whatever their order.
Complaint check_together(const RunRequest& request) {
  std::size_t bytes = 0;
  for (const std::string& arg : request.args) bytes += arg.size() + 1;
  for (const auto& [name, value] : request.env) bytes += name.size() + value.size() + 2;
  if (bytes > max_args_env_bytes) {
    return "args, env: expected at most " + std::to_string(max_args_env_bytes) + " bytes together";
  }
  const auto own_name = runtime::file_name_of(request.language, request.code);
  const auto files = runtime::check_input_files(request.files, own_name, {});
  if (!files) return "files: " + files.error().doing;
  return std::nullopt;
}

}  // namespace

std::variant<RunRequest, Response> decode_execute(std::string_view body,
                                                  const ExecuteRules& rules) {
  const auto parsed = runtime::json::parse(body, "body");
  if (!parsed) return problem(400, parsed.error().message());
  const Object* object = parsed->as_object();
  if (object == nullptr) return problem(400, "body: expected a JSON object");
  const bool has_task = object->contains("task");
  if (object->contains("code") == has_task) {
    return problem(400, "body: expected exactly one of code and task");
  }
  RunRequest request;
  request.timeout = rules.default_timeout;
  request.memory_limit_mb = rules.default_memory_limit_mb;
  const auto fields = has_task ? std::span<const Field>(task_fields) : code_fields;
  if (const auto complaint = read_fields(*object, fields, rules, request)) {
    return problem(400, *complaint);
  }
  if (const auto complaint = check_together(request)) return problem(400, *complaint);
  if (const auto complaint = check_template(request, rules)) return problem(400, *complaint);
  if (const auto complaint = check_language(request, rules)) return problem(400, *complaint);
  if (has_task) return problem(424, rules.why_no_task);
  return request;
}

}  // namespace server
