#include "runtime/service/request_fields.h"

#include <algorithm>

#include "jail/collect.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

using agent::TaskRequest;
using json::Object;
using json::Value;
using Type = Field::Type;
using Words = std::vector<std::string>;

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

double seconds(std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; }

Words languages(const RequestRules&) {
  Words words;
  for (const Language language : all_languages) words.emplace_back(name_of(language));
  return words;
}

Words encodings(const RequestRules&) { return {"utf-8", "base64"}; }
Words suites(const RequestRules& rules) { return rules.suites; }

Words templates(const RequestRules& rules) {
  Words words = {std::string(no_template)};
  for (const Template& one : rules.templates) words.push_back(one.name);
  return words;
}

Words providers(const RequestRules& rules) {
  Words words;
  for (const auto& [name, why] : rules.tasks.providers) words.push_back(name);
  return words;
}

Language language_of(const std::string& word) { return *language_named(word); }

OutputEncoding encoding_of(const std::string& word) {
  return word == "utf-8" ? OutputEncoding::utf8 : OutputEncoding::base64;
}

Complaint read_args(const Field& field, const Value& value, const RequestRules& rules,
                    RunRequest& request) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || !is_within(field, static_cast<double>(list->size()), rules)) {
    return expectation(field, rules);
  }
  for (const Value& item : *list) {
    const std::string* text = item.as_string();
    if (text == nullptr || has_nul(*text)) return expectation(field, rules);
    request.args.push_back(*text);
  }
  return std::nullopt;
}

Complaint read_env(const Field& field, const Value& value, const RequestRules& rules,
                   RunRequest& request) {
  const Object* const map = value.as_object();
  if (map == nullptr || !is_within(field, static_cast<double>(map->size()), rules)) {
    return expectation(field, rules);
  }
  for (const auto& [name, item] : *map) {
    const std::string* text = item.as_string();
    const bool bad_name = name.empty() || has_nul(name) || name.find('=') != name.npos;
    if (bad_name || text == nullptr || has_nul(*text)) return expectation(field, rules);
    request.env.emplace_back(name, *text);
  }
  return std::nullopt;
}

Complaint read_artifacts(const Field& field, const Value& value, const RequestRules& rules,
                         RunRequest& request) {
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

Complaint read_network(const Field& field, const Value& value, const RequestRules& rules,
                       RunRequest& request) {
  if (value.as_string() != nullptr && *value.as_string() == "none") return std::nullopt;
  const Object* const object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("allow")) {
    return expectation(field, rules);
  }
  const json::Array* const list = object->find("allow")->second.as_array();
  if (list == nullptr || list->empty()) return expectation(field, rules);
  if (list->size() > max_destinations) {
    return "allow: expected at most " + std::to_string(max_destinations) + " destinations";
  }
  if (rules.network.empty()) return "the operator allows no egress; expected none";
  std::vector<std::string> allow;
  for (const Value& item : *list) {
    if (item.as_string() == nullptr) return expectation(field, rules);
    if (const Complaint complaint = check_destination(*item.as_string(), rules)) {
      return "allow[" + std::to_string(allow.size()) + "]: " + *complaint;
    }
    allow.push_back(*item.as_string());
  }
  request.network = jail::Network::allow(std::move(allow));
  return std::nullopt;
}

constexpr Field::Member file_contents = {
    "additionalProperties",
    R"({"oneOf":[{"type":"string"},{"type":"object","additionalProperties":false,)"
    R"("required":["base64"],"properties":{"base64":{"type":"string","contentEncoding":"base64"}}}]})"};
constexpr Field::Member string_items = {"items", R"({"type":"string"})"};

constexpr Field files_field(std::string_view description, Field::Member example) {
  return {.name = "files",
          .type = Type::map,
          .max = static_cast<double>(InputFileLimits().files),
          .expected = "relative paths to a string or {\"base64\": \"...\"} each",
          .description = description,
          .schema = {file_contents, example}};
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

constexpr Field memory_field(std::string_view description) {
  return {.name = "memory_limit_mb",
          .type = Type::integer,
          .min = min_memory_limit_mb,
          .operator_max = [](const RequestRules& rules) -> double {
            return rules.ceilings.memory_limit_mb;
          },
          .operator_default = [](const RequestRules& rules) -> double {
            return rules.default_memory_limit_mb;
          },
          .description = description};
}

constexpr Field attempts_field = {
    .name = "max_attempts",
    .type = Type::integer,
    .min = 1,
    .max = agent::most_attempts,
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
      .description = "The program; at most 1 MiB of UTF-8."},
     read_text<&RunRequest::code>},
    {{.name = "language",
      .type = Type::text,
      .expected = "python, bash, javascript or typescript",
      .words = languages,
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
     read_args},
    {{.name = "env",
      .type = Type::map,
      .max = max_env,
      .expected = "names (not empty, without = and NUL) to strings without NUL",
      .schema = {{"propertyNames", R"({"minLength":1,"pattern":"^[^=\\u0000]+$"})"},
                 {"additionalProperties", R"({"type":"string"})"}}},
     read_env},
    {files_field("Files for the working directory, there before the program starts: a relative "
                 "path each, with directories where needed; at most 64, 8 MiB together. The "
                 "program's own file has its name already (main.py and so on).",
                 {"example", R"({"in/numbers.csv":"a,b\n1,2\n","logo.png":)"
                             R"({"base64":"iVBORw0KGgo="}})"}),
     read_files<&RunRequest::files>},
    {{.name = "artifacts",
      .type = Type::list,
      .max = max_artifact_globs,
      .expected = "globs",
      .description =
          "Globs of the files wanted from the working directory afterwards: * and ? within a "
          "directory, ** across directories, names that begin with a dot only when the glob says "
          "so. At most 64 files, 4 MiB each, 8 MiB together; only regular files with one link. "
          "What a glob names and is not returned is listed with its reason.",
      .schema = {{"items", R"({"type":"string","minLength":1,"maxLength":512})"},
                 {"example", R"(["*.png","out/**"])"}}},
     read_artifacts},
    {timeout_field("The maximum and the default are the operator's to change."),
     read_seconds<&RunRequest::timeout>},
    {memory_field("The maximum and the default are the operator's to change."),
     read_integer<&RunRequest::memory_limit_mb>},
    {{.name = "template",
      .type = Type::text,
      .words = templates,
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
      .words = encodings,
      .default_json = R"("utf-8")",
      .description = "In utf-8, bytes that are none come as U+FFFD; base64 leaves them untouched."},
     read_word<&RunRequest::output_encoding, encoding_of>},
    {{.name = "network",
      .expected = "none or {\"allow\": [\"host:port\", ...]}",
      .default_json = R"("none")",
      .description =
          "What the program can reach beside its own loopback interface: nothing, or the "
          "destinations that are named, through a proxy that HTTP_PROXY, HTTPS_PROXY and ALL_PROXY "
          "name (HTTP and SOCKS5). A destination is a name (example.org:443), a name with all "
          "below it (*.example.org:443), an address or a range of them (10.0.0.0/8:5432); each "
          "must be within what the operator allows (SANDBOX_NETWORK_ALLOW), which is nothing by "
          "default. A name that leads to a private address is refused unless that address is "
          "named as well. Such a program starts in a jail that is made for it.",
      .schema =
          {{"oneOf", R"([{"type":"string","enum":["none"]},{"type":"object",)"
                     R"("additionalProperties":false,"required":["allow"],"properties":{"allow":)"
                     R"({"type":"array","minItems":1,"maxItems":64,"items":)"
                     R"({"type":"string","minLength":3}}}}])"},
           {"examples", R"(["none",{"allow":["pypi.org:443","files.pythonhosted.org:443"]}])"}}},
     read_network}};

constexpr RequestField<TaskRequest> task_rows[] = {
    {{.name = "task",
      .type = Type::text,
      .min = 1,
      .max = max_task_characters,
      .unit = "characters"},
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
     read_files<&TaskRequest::files>},
    {timeout_field("Of each program; the maximum and the default are the operator's to change."),
     read_seconds<&TaskRequest::timeout>},
    {memory_field("Of each program; the maximum and the default are the operator's to change."),
     read_integer<&TaskRequest::memory_limit_mb>},
    {{.name = "swarm",
      .type = Type::boolean,
      .default_json = "false",
      .description = "An architect, a coder, reviewers and an optimizer instead of a coder alone."},
     read_choice<&TaskRequest::team, agent::Team::swarm, agent::Team::coder>},
    {{.name = "candidates",
      .type = Type::integer,
      .min = 1,
      .max = agent::most_candidates,
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
