// The body of POST /execute. An accepted request is within every limit and can be written as JSON
// without a change; a refusal is a problem that gives the reason; an answer is JSON whatever the
// program wrote.
#include <boost/json/parse.hpp>
#include <string>

#include "jail/collect.h"
#include "runtime/json/base64.h"
#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/input_files.h"
#include "runtime/sandbox/language.h"
#include "runtime/sandbox/python_imports.h"
#include "runtime/service/result_json.h"
#include "server/api/decode.h"
#include "tests/fuzz/fuzz.h"

namespace fuzz {
namespace {

using runtime::RunRequest;
using runtime::json::Object;
using runtime::json::Value;
using runtime::json::Writer;
using namespace std::chrono_literals;

constexpr runtime::Ceilings ceilings{.timeout = 60s, .memory_limit_mb = 2048};

runtime::RequestRules make_rules() {
  runtime::RequestRules rules;
  rules.ceilings = ceilings;
  if (is_planted()) rules.ceilings = {.timeout = 600s, .memory_limit_mb = 1u << 20};
  rules.why_no_language = {{runtime::Language::typescript, "no esbuild here"}};
  rules.templates = runtime::shipped_templates();
  rules.why_no_task = "task: no provider";
  return rules;
}

const runtime::RequestRules& rules() {
  static const runtime::RequestRules made = make_rules();
  return made;
}

Value must_parse(std::string_view document, std::string_view what) {
  auto value = runtime::json::parse(document, "document");
  require(value.has_value(), std::string(what) + " is not JSON");
  return std::move(*value);
}

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

void check_limits(const RunRequest& request) {
  require(!request.code.empty() && request.code.size() <= runtime::max_code_bytes, "code");
  require(request.timeout >= runtime::min_timeout && request.timeout <= ceilings.timeout,
          "timeout_seconds is not within its limits");
  require(request.memory_limit_mb >= runtime::min_memory_limit_mb &&
              request.memory_limit_mb <= ceilings.memory_limit_mb,
          "memory_limit_mb is not within its limits");
  std::size_t bytes = 0;
  for (const std::string& arg : request.args) {
    require(!has_nul(arg), "an argument with NUL");
    bytes += arg.size();
  }
  for (const auto& [name, value] : request.env) {
    require(!name.empty() && !has_nul(name) && !has_nul(value), "a variable with NUL");
    require(name.find('=') == name.npos, "a variable's name with =");
    bytes += name.size() + value.size();
  }
  require(request.args.size() <= runtime::max_args, "args");
  require(request.env.size() <= runtime::max_env, "env");
  require(bytes <= runtime::max_args_env_bytes, "args and env together");
}

// For any text, the imports are names that occur in it.
void check_imports(std::string_view code) {
  const auto imports = runtime::python_imports(code);
  require(imports.size() <= runtime::max_imports_found, "more imports than are looked for");
  for (const std::string_view name : imports) {
    require(!name.empty() && code.find(name) != code.npos, "an import that is not in the program");
  }
}

void check_paths(const RunRequest& request) {
  const runtime::InputFileLimits limits;
  std::size_t bytes = 0;
  for (const runtime::InputFile& file : request.files) {
    const std::string around = "/" + file.path + "/";
    require(!has_nul(file.path) && around.find("//") == around.npos &&
                around.find("/./") == around.npos && around.find("/../") == around.npos,
            "a file's path leads out of the directory, or nowhere");
    bytes += file.content.size();
  }
  require(request.files.size() <= limits.files && bytes <= limits.total_bytes, "files");
  require(request.artifacts.size() <= runtime::max_artifact_globs, "artifacts");
  for (const std::string& glob : request.artifacts) {
    require(jail::check_glob(glob).has_value(), "a glob that names nothing was taken");
  }
  const auto* named = runtime::find_template(rules().templates, request.template_name);
  require(request.template_name.empty() || request.template_name == runtime::no_template ||
              (named != nullptr && named->language == request.language),
          "the template is not of the program's language");
  check_imports(request.code);
}

std::string encoded(const RunRequest& request) {
  Writer writer;
  writer.begin_object().key("code").string(request.code);
  writer.key("language").string(runtime::name_of(request.language));
  writer.key("stdin").string(request.standard_input);
  writer.key("args").begin_array();
  for (const std::string& arg : request.args) writer.string(arg);
  writer.end_array().key("env").begin_object();
  for (const auto& [name, value] : request.env) writer.key(name).string(value);
  writer.end_object().key("files").begin_object();
  for (const runtime::InputFile& file : request.files) {
    writer.key(file.path).begin_object().key("base64").base64(file.content).end_object();
  }
  writer.end_object().key("artifacts").begin_array();
  for (const std::string& glob : request.artifacts) writer.string(glob);
  writer.end_array().key("timeout_seconds");
  writer.number(static_cast<double>(request.timeout.count()) / 1000);
  writer.key("memory_limit_mb").integer(request.memory_limit_mb);
  if (!request.template_name.empty()) writer.key("template").string(request.template_name);
  writer.key("output_encoding");
  writer.string(request.output_encoding == runtime::OutputEncoding::utf8 ? "utf-8" : "base64");
  return std::move(writer.end_object()).take();
}

bool same_files(const RunRequest& a, const RunRequest& b) {
  return std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(),
                    [](const runtime::InputFile& one, const runtime::InputFile& other) {
                      return one.path == other.path && one.content == other.content;
                    });
}

bool same(const RunRequest& a, const RunRequest& b) {
  return a.code == b.code && a.language == b.language && a.standard_input == b.standard_input &&
         a.args == b.args && a.env == b.env && same_files(a, b) && a.artifacts == b.artifacts &&
         a.timeout == b.timeout && a.memory_limit_mb == b.memory_limit_mb &&
         a.template_name == b.template_name && a.output_encoding == b.output_encoding;
}

void check_again(const RunRequest& request) {
  const auto again = server::decode_execute(encoded(request), rules());
  const auto* same_request = std::get_if<RunRequest>(&again);
  require(same_request != nullptr, "a request that was taken is refused when it is said again");
  require(same(request, *same_request), "a request is another one when it is said again");
}

// Each problem starts with the field at fault, or is about the body as a whole.
void check_problem(const server::Response& response, std::string_view body) {
  require(response.status == 400 || response.status == 424, "a refusal with another status");
  require(response.content_type == "application/problem+json", "a refusal that is no problem");
  const Value value = must_parse(response.body, "a problem");
  const Object* problem = value.as_object();
  require(problem != nullptr && problem->contains("detail"), "a problem without a detail");
  const std::string& detail = *problem->at("detail").as_string();
  const std::size_t colon = detail.find(':');
  require(colon != detail.npos && colon > 0, "a problem that names no field");
  const auto parsed = runtime::json::parse(body, "body");
  if (!parsed) require(detail.starts_with("body"), "a body that is no JSON, and not its fault");
}

// An independent parser must agree that what we accept is JSON.
void check_is_json(std::string_view body) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 2 * runtime::json::max_depth;
  boost::json::parse({body.data(), body.size()}, error, {}, options);
  // A number that no double can represent is JSON, and the field that has one is refused by its
  // name.
  const bool is_large_number = error == boost::json::error::exponent_overflow;
  require(!error || is_large_number, "what is no JSON was read as such");
}

// Any bytes may be a program's output, and names of files need not be UTF-8.
void check_result(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, bytes.size() / 2);
  const std::string_view tail = bytes.substr(head.size());
  runtime::RunResult result;
  result.standard_output = head;
  result.standard_error = tail;
  result.signal = std::string(tail.substr(0, 16));
  result.artifacts.files.push_back({std::string(head.substr(0, 255)), std::string(tail)});
  result.artifacts.skipped.push_back({std::string(tail.substr(0, 255))});
  result.usage.memory_peak_bytes = hash_of(bytes);
  const runtime::Execution job = runtime::make_execution();
  for (const auto encoding : {runtime::OutputEncoding::utf8, runtime::OutputEncoding::base64}) {
    const Value value = must_parse(runtime::encode_result(result, job, encoding), "a result");
    const std::string& output = *value.as_object()->at("stdout").as_string();
    if (encoding == runtime::OutputEncoding::base64) {
      require(runtime::json::decode_base64(output) == head, "base64 of another output");
    } else {
      require(output == runtime::json::repair_utf8(head), "another output");
    }
  }
}

void try_input(std::string_view body) {
  check_result(body);
  if (runtime::json::parse(body, "body")) check_is_json(body);
  const auto decoded = server::decode_execute(body, rules());
  if (const auto* refusal = std::get_if<server::Response>(&decoded)) {
    return check_problem(*refusal, body);
  }
  const auto& request = std::get<RunRequest>(decoded);
  check_limits(request);
  check_paths(request);
  check_again(request);
  static_cast<void>(runtime::arguments_of(request));
  static_cast<void>(runtime::environment_of(request));
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::try_input(fuzz::text_of(bytes, size));
  return 0;
}
