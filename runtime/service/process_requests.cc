// The requests about processes in sandboxes.
#include <signal.h>
#include <string.h>

#include <cmath>

#include "runtime/json/base64.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_requests.h"

namespace runtime {
namespace {

using json::Value;
using Type = Field::Type;

constexpr std::size_t max_input_bytes = 1u << 20;
constexpr std::size_t max_encoded_input_bytes = (max_input_bytes + 2) / 3 * 4;  // bytes of base64
constexpr double max_process_seconds = 86400;

bool is_input_text(std::string_view text) { return text.size() <= max_input_bytes; }

Complaint read_command(const Field& field, const Value& value, const RequestRules& rules,
                       ProcessRequest& request) {
  if (const std::string* const text = value.as_string()) {
    if (text->empty() || has_nul(*text)) return expectation(field, rules);
    request.argv = {"/usr/bin/bash", "-c", *text};
    return std::nullopt;
  }
  const json::Array* const list = value.as_array();
  if (list == nullptr || list->empty() || list->size() > max_args) {
    return expectation(field, rules);
  }
  request.argv.clear();
  for (const Value& item : *list) {
    const std::string* const text = item.as_string();
    if (text == nullptr || has_nul(*text)) return expectation(field, rules);
    request.argv.push_back(*text);
  }
  if (request.argv[0].empty()) return expectation(field, rules);
  return std::nullopt;
}

constexpr RequestField<ResizeRequest> resize_rows[] = {
    {required(side_field("columns")), read_integer<&ResizeRequest::columns>},
    {required(side_field("rows")), read_integer<&ResizeRequest::rows>}};

constexpr RequestField<ResizeRequest> pty_rows[] = {
    {side_field("columns", "80"), read_integer<&ResizeRequest::columns>},
    {side_field("rows", "24"), read_integer<&ResizeRequest::rows>}};

std::string pty_schemas(const RequestRules& rules) {
  return properties_of<ResizeRequest>(pty_rows, rules);
}

std::optional<Refusal> read_terminal(const json::Object& members, const RequestRules& rules,
                                     ProcessRequest& request) {
  ResizeRequest size{.columns = 80, .rows = 24};
  auto refusal = read_fields<ResizeRequest>(members, pty_rows, rules, size);
  request.terminal = {static_cast<std::uint16_t>(size.columns),
                      static_cast<std::uint16_t>(size.rows)};
  return refusal;
}

Complaint read_process_seconds(const Field& field, const Value& value, const RequestRules& rules,
                               ProcessRequest& request) {
  const auto seconds = number_of(value);
  if (!seconds || !is_within(field, *seconds, rules)) return expectation(field, rules);
  request.timeout = std::chrono::milliseconds(std::llround(*seconds * 1000));
  return std::nullopt;
}

Complaint read_code(const Field& field, const Value& value, const RequestRules& rules,
                    ProcessRequest& request) {
  const std::string* const text = text_of(field, value, rules);
  if (text == nullptr) return expectation(field, rules);
  request.code = *text;
  return std::nullopt;
}

Complaint read_language(const Field& field, const Value& value, const RequestRules& rules,
                        ProcessRequest& request) {
  const std::string* const word = text_of(field, value, rules);
  if (word == nullptr) return expectation(field, rules);
  request.language = *language_named(*word);
  return std::nullopt;
}

constexpr RequestField<ProcessRequest> process_rows[] = {
    {{.name = "command",
      .expected = "a string for a shell, or a list of 1 .. 256 strings, without NUL",
      .description = "A list is executed as it is: a first word without a slash is looked up in "
                     "PATH, one with a slash from the working directory on. A string is what bash "
                     "-c runs.",
      .schema = {{"oneOf", R"([{"type":"string","minLength":1},{"type":"array","minItems":1,)"
                           R"("maxItems":256,"items":{"type":"string"}}])"},
                 {"examples", R"(["make -j2 test",["python3","-m","http.server"]])"}}},
     read_command},
    {{.name = "code",
      .type = Type::text,
      .min = 1,
      .max = max_code_bytes,
      .unit = "bytes",
      .description =
          "In place of command: a program, at most 1 MiB of UTF-8. It is run from a hidden file in "
          "its working directory, which goes when it ends."},
     read_code},
    {{.name = "language",
      .type = Type::text,
      .expected = "python, bash, javascript or typescript",
      .words = language_words,
      .description = "Of code; by default the language of the sandbox's template, and python "
                     "where it has none."},
     read_language},
    {{.name = "args",
      .type = Type::list,
      .max = max_args,
      .expected = "strings without NUL",
      .description = "Of code; without NUL, at most 128 KiB together with env.",
      .schema = {string_items}},
     read_with<read_words_into, &ProcessRequest::args>},
    {env_field("Over that of the sandbox."), read_with<read_variables_into, &ProcessRequest::env>},
    {{.name = "working_directory",
      .type = Type::text,
      .min = 1,
      .max = max_path_bytes,
      .expected = "an absolute path",
      .description = "By default the sandbox's."},
     read_text_that<&ProcessRequest::working_directory, is_absolute_path>},
    {{.name = "stdin",
      .type = Type::text,
      .max = max_input_bytes,
      .unit = "bytes",
      .default_json = R"("")",
      .description = "What it reads first."},
     read_text_that<&ProcessRequest::standard_input, is_input_text>},
    {{.name = "keep_stdin_open",
      .type = Type::boolean,
      .default_json = "false",
      .description = "More input comes later; without it the input ends behind `stdin`."},
     read_flag<&ProcessRequest::keep_stdin_open>},
    {{.name = "pty",
      .expected = "an object with columns and rows, 1 .. 1000 each",
      .description = "A terminal of this size in place of three pipes. Its input stays open, and "
                     "all its output is stdout.",
      .members = pty_schemas,
      .schema = {{"type", R"("object")"}, {"additionalProperties", "false"}}},
     nullptr,
     read_terminal},
    {{.name = "timeout_seconds",
      .type = Type::number,
      .min = 0.05,
      .max = max_process_seconds,
      .description = "By default it may run as long as the sandbox lives."},
     read_process_seconds},
    {{.name = "background",
      .type = Type::boolean,
      .default_json = "false",
      .description =
          "The answer does not wait for its end, and it goes on when the caller leaves."},
     read_flag<&ProcessRequest::background>},
    {{.name = "output_encoding",
      .type = Type::text,
      .expected = "utf-8 or base64",
      .words = encoding_words,
      .default_json = R"("utf-8")",
      .description = "In utf-8, bytes that are none come as U+FFFD; base64 leaves them untouched."},
     read_word<&ProcessRequest::output_encoding, encoding_of>}};

constexpr RequestField<InputRequest> input_rows[] = {
    {{.name = "data",
      .type = Type::text,
      .max = max_encoded_input_bytes,
      .unit = "bytes",
      .default_json = R"("")"},
     read_text<&InputRequest::data>},
    {{.name = "encoding",
      .type = Type::text,
      .expected = "utf-8 or base64",
      .words = encoding_words,
      .default_json = R"("utf-8")"},
     read_word<&InputRequest::encoding, encoding_of>},
    {{.name = "close",
      .type = Type::boolean,
      .default_json = "false",
      .description = "No more input follows; a terminal is sent its end-of-file character."},
     read_flag<&InputRequest::close>}};

int signal_named(std::string_view name) {
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const abbreviation = ::sigabbrev_np(number);
    if (abbreviation != nullptr && name == std::string("SIG") + abbreviation) return number;
  }
  return 0;
}

Complaint read_signal(const Field& field, const Value& value, const RequestRules& rules,
                      SignalRequest& request) {
  if (const std::string* const name = value.as_string()) request.number = signal_named(*name);
  if (const std::int64_t* const number = value.as_integer()) {
    request.number = *number >= 1 && *number <= 64 ? static_cast<int>(*number) : 0;
  }
  if (request.number == 0) return expectation(field, rules);
  return std::nullopt;
}

constexpr RequestField<SignalRequest> signal_rows[] = {
    {{.name = "signal",
      .expected = "a name such as SIGTERM, or a number 1 .. 64",
      .schema = {{"oneOf", R"([{"type":"string","pattern":"^SIG[A-Z0-9]+$"},)"
                           R"({"type":"integer","minimum":1,"maximum":64}])"},
                 {"examples", R"(["SIGTERM",15])"}},
      .is_required = true},
     read_signal},
    {{.name = "group",
      .type = Type::boolean,
      .default_json = "false",
      .description = "To all of its process group."},
     read_flag<&SignalRequest::group>}};

}  // namespace

std::span<const RequestField<ProcessRequest>> process_fields() noexcept { return process_rows; }
std::span<const RequestField<InputRequest>> process_input_fields() noexcept { return input_rows; }
std::span<const RequestField<SignalRequest>> process_signal_fields() noexcept {
  return signal_rows;
}
std::span<const RequestField<SignalRequest>> job_signal_fields() noexcept {
  return std::span(signal_rows).first(1);
}
std::span<const RequestField<ResizeRequest>> process_resize_fields() noexcept {
  return resize_rows;
}

std::optional<Refusal> check_process(const ProcessRequest& request) {
  if (request.code.empty() == request.argv.empty()) {
    const bool has_both = !request.code.empty();
    return Refusal{.code = has_both ? RefusalCode::bad_request : RefusalCode::missing_field,
                   .detail = "body: expected exactly one of command and code"};
  }
  if (request.code.empty() && request.language) return refuse_request("language: only code has it");
  if (request.code.empty() && !request.args.empty()) {
    return refuse_request("args: only code has them; those of a command follow it in its list");
  }
  if (!request.code.empty()) return check_arguments("args, env", request.args, request.env);
  return check_arguments("command, env", request.argv, request.env);
}

std::optional<Refusal> check_input(InputRequest& request) {
  if (request.encoding == OutputEncoding::utf8) return std::nullopt;
  auto bytes = json::decode_base64(request.data);
  if (!bytes) return refuse_request("data: expected padded base64 (RFC 4648)");
  request.data = std::move(*bytes);
  return std::nullopt;
}

}  // namespace runtime
