#include "runtime/agent/roles.h"

#include <algorithm>

#include "runtime/agent/program_text.h"
#include "runtime/json/members.h"
#include "runtime/llm/answer_json.h"
#include "runtime/llm/schema.h"

extern "C" const char runtime_prompts_begin[];

namespace runtime::agent {
namespace {

using jail::Error;
using jail::Result;
using json::Object;

constexpr std::size_t max_program_bytes = 1u << 20;
constexpr std::size_t max_findings = 12;

#define STRING R"({"type": "string"})"
#define BOOLEAN R"({"type": "boolean"})"
#define NUMBER R"({"type": "number"})"
#define STRINGS R"({"type": "array", "items": {"type": "string"}})"
constexpr std::string_view coder_schema =
    R"({"type": "object", "additionalProperties": false,
  "required": ["code", "reasoning", "dependencies"],
  "properties": {"code": )" STRING R"(, "reasoning": )" STRING R"(, "dependencies": )" STRINGS "}}";
constexpr std::string_view critic_schema =
    R"({"type": "object", "additionalProperties": false,
  "required": ["diagnosis", "fix", "should_retry", "confidence"],
  "properties": {"diagnosis": )" STRING R"(, "fix": )" STRING R"(, "should_retry": )" BOOLEAN
    R"(, "confidence": )" NUMBER "}}";
constexpr std::string_view tester_schema =
    R"({"type": "object", "additionalProperties": false, "required": ["tests", "reasoning"],
  "properties": {"tests": )" STRING R"(, "reasoning": )" STRING "}}";
constexpr std::string_view architect_schema =
    R"({"type": "object", "additionalProperties": false, "required": ["plan", "pitfalls"],
  "properties": {"plan": )" STRING R"(, "pitfalls": )" STRINGS "}}";
constexpr std::string_view reviewer_schema =
    R"({"type": "object", "additionalProperties": false,
  "required": ["approve", "confidence", "findings"],
  "properties": {"approve": )" BOOLEAN R"(, "confidence": )" NUMBER R"(, "findings": )" STRINGS
    "}}";
constexpr std::string_view optimizer_schema =
    R"({"type": "object", "additionalProperties": false,
  "required": ["approve", "confidence", "findings", "code"],
  "properties": {"approve": )" BOOLEAN R"(, "confidence": )" NUMBER R"(, "findings": )" STRINGS
    R"(, "code": )" STRING "}}";
#undef STRING
#undef BOOLEAN
#undef NUMBER
#undef STRINGS

std::string_view schema_of(Role role) noexcept {
  switch (role) {
    case Role::coder:
      return coder_schema;
    case Role::critic:
      return critic_schema;
    case Role::tester:
      return tester_schema;
    case Role::architect:
      return architect_schema;
    case Role::reviewer:
    case Role::security:
      return reviewer_schema;
    case Role::optimizer:
      return optimizer_schema;
  }
  return {};
}

bool flag_of(const Object& object, std::string_view key) {
  const json::Value* flag = json::member(object, key);
  return flag != nullptr && flag->as_bool() != nullptr && *flag->as_bool();
}

// Models like to answer 95 (percent) in place of 0.95.
double share_of(const Object& object, std::string_view key) {
  const auto member = object.find(key);
  if (member == object.end()) return 0;
  double number = 0;
  if (const double* value = member->second.as_double()) number = *value;
  if (const std::int64_t* value = member->second.as_integer()) number = static_cast<double>(*value);
  if (number > 1 && number <= 100) number /= 100;
  return std::clamp(number, 0.0, 1.0);
}

std::vector<std::string> list_of(const Object& object, std::string_view key) {
  std::vector<std::string> list;
  const json::Value* items = json::member(object, key);
  if (items == nullptr || items->as_array() == nullptr) return list;
  for (const json::Value& item : *items->as_array()) {
    if (item.as_string() != nullptr) list.push_back(*item.as_string());
  }
  return list;
}

Answer answer_of(Role role, const Object& object) {
  Answer answer;
  answer.code = text_member(object, "code");
  answer.reasoning = text_member(object, "reasoning");
  answer.dependencies = list_of(object, "dependencies");
  answer.tests = text_member(object, "tests");
  answer.plan = text_member(object, "plan");
  answer.findings = list_of(object, role == Role::architect ? "pitfalls" : "findings");
  if (answer.findings.size() > max_findings) answer.findings.resize(max_findings);
  answer.approves = flag_of(object, "approve");
  answer.confidence = share_of(object, "confidence");
  if (role != Role::critic) return answer;
  answer.critique.diagnosis = text_member(object, "diagnosis");
  answer.critique.fix = text_member(object, "fix");
  answer.critique.should_retry = flag_of(object, "should_retry");
  answer.critique.confidence = answer.confidence;
  return answer;
}

Result<void> check(Role role, const Answer& answer) {
  const bool programs = role == Role::coder || role == Role::optimizer;
  const std::string& program = role == Role::tester ? answer.tests : answer.code;
  const std::string name = role == Role::tester ? "\"tests\"" : "\"code\"";
  if (role == Role::coder || role == Role::tester) {
    if (program.find_first_not_of(" \t\r\n") == program.npos)
      return jail::invalid(name + " is empty");
  }
  if (programs || role == Role::tester) {
    if (program.size() > max_program_bytes) return jail::invalid(name + " is longer than 1 MiB");
    if (program.find('\0') != program.npos) return jail::invalid(name + " has a NUL in it");
  }
  return {};
}

Result<Answer> read_object(Role role, std::string_view text) {
  const auto value = llm::answer_json(text);
  if (!value) return value.error();
  const auto schema = json::parse(schema_of(role), "contract");
  if (!schema) return schema.error();
  if (auto fits = llm::check_schema(*value, *schema, "answer"); !fits) return fits.error();
  if (value->as_object() == nullptr) return jail::invalid("answer: expected an object");
  Answer answer = answer_of(role, *value->as_object());
  // Models sometimes put a fence inside of a string that should hold only Python.
  for (std::string* program : {&answer.code, &answer.tests}) {
    if (program->find("```") != program->find_first_not_of(" \t\r\n")) continue;
    if (auto bare = program_in_fence(*program)) *program = std::move(*bare);
  }
  if (auto whole = check(role, answer); !whole) return whole.error();
  return answer;
}

}  // namespace

std::string_view name_of(Role role) noexcept {
  switch (role) {
    case Role::coder:
      return "coder";
    case Role::critic:
    case Role::reviewer:
      return "critic";
    case Role::tester:
      return "tester";
    case Role::architect:
      return "architect";
    case Role::security:
      return "security";
    case Role::optimizer:
      return "optimizer";
  }
  return "unknown";
}

std::string_view prompt_of(Role role) {
  const char* prompt = runtime_prompts_begin;
  for (int before = 0; before < static_cast<int>(role); ++before) {
    prompt += std::string_view(prompt).size() + 1;
  }
  return prompt;
}

llm::AnswerSchema contract_of(Role role) {
  return {.name = std::string(name_of(role)), .schema = std::string(schema_of(role))};
}

Result<Answer> read_answer(Role role, std::string_view text) {
  auto answer = read_object(role, text);
  if (answer || (role != Role::coder && role != Role::tester)) return answer;
  // A program may have fences in its comments, and a first line that looks like a comment may be a
  // heading.
  auto program = program_in_fence(text);
  const bool bare_text = looks_like_program(text) && (!program || !text.starts_with("# "));
  if (bare_text) program = std::string(text);
  if (!program) return answer;
  Answer bare;
  (role == Role::coder ? bare.code : bare.tests) = std::move(*program);
  if (auto whole = check(role, bare); !whole) return whole.error();
  return bare;
}

}  // namespace runtime::agent
