#include "runtime/service/request_fields.h"

#include <algorithm>

#include "jail/collect.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

using agent::TaskRequest;
using json::Value;
using Type = Field::Type;
using Words = std::vector<std::string>;

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

Words suites(const RequestRules& rules) { return rules.suites; }

Words providers(const RequestRules& rules) {
  Words words;
  for (const auto& [name, why] : rules.tasks.providers) words.push_back(name);
  return words;
}

Language language_of(const std::string& word) { return *language_named(word); }

template <class Request>
Complaint read_artifacts(const Field& field, const Value& value, const RequestRules& rules,
                         Request& request) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || !is_within(field, static_cast<double>(list->size()), rules)) {
    return expectation(field, rules);
  }
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return expectation(field, rules);
    if (const auto checked = jail::check_glob(*item.as_string()); !checked) {
      return json::quoted(*item.as_string()) + ": " + checked.error().doing;
    }
    request.artifacts.push_back(*item.as_string());
  }
  return std::nullopt;
}

constexpr Field::Member file_contents = {
    "additionalProperties",
    R"({"oneOf":[{"type":"string"},{"type":"object","additionalProperties":false,)"
    R"("required":["base64"],"properties":{"base64":{"type":"string","contentEncoding":"base64"}}}]})"};
constexpr Field files_field(std::string_view description, Field::Member example) {
  return {.name = "files",
          .type = Type::map,
          .max = static_cast<double>(InputFileLimits().files),
          .expected = "relative paths to a string or {\"base64\": \"...\"} each",
          .description = description,
          .schema = {file_contents, example}};
}

constexpr Field artifacts_field(std::string_view description, Field::Member example) {
  return {.name = "artifacts",
          .type = Type::list,
          .max = max_artifact_globs,
          .expected = "globs",
          .description = description,
          .schema = {{"items", R"({"type":"string","minLength":1,"maxLength":512})"}, example}};
}

constexpr Field timeout_field(std::string_view description) {
  return {
      .name = "timeout_seconds",
      .type = Type::number,
      .min = static_cast<double>(min_timeout.count()) / 1000,
      .operator_max = [](const RequestRules& rules) { return seconds(rules.ceilings.timeout); },
      .operator_default = [](const RequestRules& rules) { return seconds(rules.default_timeout); },
      .description = description};
}

constexpr Field attempts_field = {
    .name = "max_attempts",
    .type = Type::integer,
    .min = 1,
    .max = agent::max_allowed_attempts,
    .operator_default = [](const RequestRules& rules) -> double {
      return rules.tasks.default_max_attempts;
    },
    .description =
        "Executions, the first included; candidates of one round count once. The "
        "default is the operator's to change."};

constexpr Field provider_field = {
    .name = "provider",
    .type = Type::text,
    .words = providers,
    .description =
        "One that is configured; by default LLM_PROVIDER, else the first whose key is "
        "set."};

constexpr Field model_field = {.name = "model",
                               .type = Type::text,
                               .min = 1,
                               .max = 256,
                               .expected = "a model's name without blanks and ..",
                               .description = "By default the provider's as configured.",
                               .schema = {{"pattern", R"("^[!-~]+$")"}}};

constexpr RequestField<RunRequest> program_rows[] = {
    {{.name = "code",
      .type = Type::text,
      .min = 1,
      .max = max_code_bytes,
      .unit = "bytes",
      .description = "The program; at most 1 MiB of UTF-8.",
      .is_required = true},
     read_text<&RunRequest::code>},
    {{.name = "language",
      .type = Type::text,
      .expected = "python, bash, javascript or typescript",
      .words = language_words,
      .default_json = R"("python")",
      .description =
          "JavaScript runs as a module where it imports, exports or awaits at its top level, else "
          "as CommonJS. TypeScript is turned into JavaScript without a check of its types. A "
          "language that the root of this server lacks is answered with 400."},
     read_word<&RunRequest::language, language_of>},
    {{.name = "stdin", .type = Type::text, .default_json = R"("")"},
     read_text<&RunRequest::standard_input>},
    {{.name = "args",
      .type = Type::list,
      .max = max_args,
      .expected = "strings without NUL",
      .description = "Without NUL; at most 128 KiB together with env.",
      .schema = {string_items}},
     read_with<read_words_into, &RunRequest::args>},
    {env_field({}), read_with<read_variables_into, &RunRequest::env>},
    {files_field("Files for the working directory, there before the program starts: a relative "
                 "path each, with directories where needed; at most 64, 8 MiB together. The "
                 "program's own file has its name already (main.py and so on).",
                 {"example", R"({"in/numbers.csv":"a,b\n1,2\n","logo.png":)"
                             R"({"base64":"iVBORw0KGgo="}})"}),
     read_with<read_input_files, &RunRequest::files>},
    {artifacts_field(
         "Globs of the files wanted from the working directory afterwards: * and ? within a "
         "directory, ** across directories, names that begin with a dot only when the glob says "
         "so. At most 64 files, 4 MiB each, 8 MiB together; only regular files with one link. "
         "What a glob names and is not returned is listed with its reason.",
         {"example", R"(["*.png","out/**"])"}),
     read_artifacts<RunRequest>},
    {timeout_field("The maximum and the default are the operator's to change."),
     read_seconds<&RunRequest::timeout>},
    {memory_field("memory_limit_mb", "The maximum and the default are the operator's to change."),
     read_integer<&RunRequest::memory_limit_mb>},
    {{.name = "template",
      .type = Type::text,
      .words = template_words,
      .description =
          "What the jail is taken from. Without it a Python program gets the template that has "
          "imported most of the packages that it imports, where a jail of that one waits; else "
          "the template of the language's name is meant, and a jail is made for the program where "
          "that has none waiting. One that is named is waited for, within timeout_seconds. none: "
          "a jail made for this program. Shipped are bash, javascript, python, typescript, and "
          "data (Python with numpy, pandas and matplotlib imported); operators add their own."},
     read_text<&RunRequest::template_name>},
    {{.name = "output_encoding",
      .type = Type::text,
      .expected = "utf-8 or base64",
      .words = encoding_words,
      .default_json = R"("utf-8")",
      .description = "In utf-8, bytes that are none come as U+FFFD; base64 leaves them untouched."},
     read_word<&RunRequest::output_encoding, encoding_of>},
    {network_field, read_with<read_network_into, &RunRequest::network>}};

constexpr RequestField<TaskRequest> task_rows[] = {
    {{.name = "task",
      .type = Type::text,
      .min = 1,
      .max = max_task_characters,
      .unit = "characters",
      .is_required = true},
     read_text_that<&TaskRequest::task, is_task_text>},
    {attempts_field, read_integer<&TaskRequest::max_attempts>},
    {{.name = "tests",
      .type = Type::text,
      .max = max_tests_bytes,
      .unit = "bytes",
      .description = "Python that is appended to each program, which must then exit with 0; at "
                     "most 256 KiB of UTF-8."},
     read_text<&TaskRequest::tests>},
    {{.name = "write_tests",
      .type = Type::boolean,
      .default_json = "false",
      .description = "The model writes tests first, where `tests` has none."},
     read_choice<&TaskRequest::tests_by_model, agent::TestsByModel::first,
                 agent::TestsByModel::none>},
    {files_field("As in CodeRequest; there before each program starts.", {}),
     read_with<read_input_files, &TaskRequest::files>},
    {artifacts_field("As in CodeRequest, of the program that solves it.", {}),
     read_artifacts<TaskRequest>},
    {timeout_field("Of each program; the maximum and the default are the operator's to change."),
     read_seconds<&TaskRequest::timeout>},
    {memory_field("memory_limit_mb",
                  "Of each program; the maximum and the default are the operator's to change."),
     read_integer<&TaskRequest::memory_limit_mb>},
    {{.name = "swarm",
      .type = Type::boolean,
      .default_json = "false",
      .description = "An architect, a coder, reviewers and an optimizer instead of a coder alone."},
     read_choice<&TaskRequest::team, agent::Team::swarm, agent::Team::coder>},
    {{.name = "candidates",
      .type = Type::integer,
      .min = 1,
      .max = agent::max_candidates,
      .default_json = "1",
      .description = "So many programs are written and run side by side, and the best is taken."},
     read_integer<&TaskRequest::candidates>},
    {{.name = "lessons",
      .type = Type::boolean,
      .default_json = "true",
      .description =
          "Whether what was learnt from earlier tasks is used, and this one learnt from."},
     read_choice<&TaskRequest::lessons, agent::Lessons::used, agent::Lessons::off>},
    {provider_field, read_text<&TaskRequest::provider>},
    {model_field, read_text_that<&TaskRequest::model, is_model_name>}};

constexpr RequestField<BenchmarkRequest> benchmark_rows[] = {
    {{.name = "suite", .type = Type::text, .words = suites, .default_json = R"("quick")"},
     read_text<&BenchmarkRequest::suite>},
    {{.name = "max_problems",
      .type = Type::integer,
      .min = 1,
      .max = 1000,
      .description = "From the beginning of the suite; by default all."},
     read_integer<&BenchmarkRequest::max_problems>},
    {attempts_field, read_integer<&BenchmarkRequest::max_attempts>},
    {provider_field, read_text<&BenchmarkRequest::provider>},
    {model_field, read_text_that<&BenchmarkRequest::model, is_model_name>}};

}  // namespace

std::span<const RequestField<RunRequest>> program_fields() noexcept { return program_rows; }
std::span<const RequestField<TaskRequest>> task_fields() noexcept { return task_rows; }
std::span<const RequestField<BenchmarkRequest>> benchmark_fields() noexcept {
  return benchmark_rows;
}

RunRequest default_program(const RequestRules& rules) {
  RunRequest request;
  request.timeout = rules.default_timeout;
  request.memory_limit_mb = rules.default_memory_limit_mb;
  return request;
}

TaskRequest default_task(const RequestRules& rules) {
  TaskRequest request;
  request.timeout = rules.default_timeout;
  request.memory_limit_mb = rules.default_memory_limit_mb;
  request.max_attempts = rules.tasks.default_max_attempts;
  return request;
}

BenchmarkRequest default_benchmark(const RequestRules& rules) {
  BenchmarkRequest request;
  request.max_attempts = rules.tasks.default_max_attempts;
  return request;
}

}  // namespace runtime
