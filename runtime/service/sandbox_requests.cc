#include "runtime/service/sandbox_requests.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/service/common_fields.h"
#include "runtime/service/declared_ports.h"
#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

using json::Value;
using std::chrono::milliseconds;
using Type = Field::Type;
using Words = std::vector<std::string>;

constexpr std::size_t max_name_bytes = 50;
constexpr std::size_t max_metadata = 32;
constexpr std::size_t max_metadata_name_bytes = 64;
constexpr std::size_t max_metadata_value_bytes = 1024;
constexpr std::uint32_t max_processes = 1024;
constexpr double max_process_seconds = 86400;

double max_lifetime(const RequestRules& rules) {
  return std::chrono::duration<double>(rules.max_lifetime).count();
}

double usual_lifetime(const RequestRules& rules) { return std::min(3600.0, max_lifetime(rules)); }

double max_disk_mb(const RequestRules& rules) {
  return std::max(max_memory_disk_mb, rules.max_directory_mb);
}

Words disk_words(const RequestRules& rules) {
  if (rules.max_directory_mb == 0) return {"memory"};
  return {"memory", "directory"};
}

std::string_view hint_at_disks(const RequestRules& rules) {
  return rules.max_directory_mb > 0 ? "" : "; SANDBOX_DISK_PATH of its operator adds directory";
}
bool is_directory(const std::string& word) { return word == "directory"; }

Words timeout_words(const RequestRules&) { return {"delete", "pause"}; }

bool is_pause(const std::string& word) { return word == "pause"; }

bool is_sandbox_name(std::string_view text) {
  return !text.empty() && text.size() <= max_name_bytes && !is_sandbox_id(text) &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == text.npos;
}

bool is_input_text(std::string_view text) { return text.size() <= max_input_bytes; }

Complaint read_metadata_into(const Field& field, const Value& value, const RequestRules& rules,
                             Metadata& metadata) {
  const json::Object* const map = value.as_object();
  if (map == nullptr || !is_within(field, static_cast<double>(map->size()), rules)) {
    return expectation(field, rules);
  }
  for (const auto& [name, item] : *map) {
    const std::string* const text = item.as_string();
    const bool is_fine = !name.empty() && name.size() <= max_metadata_name_bytes &&
                         text != nullptr && text->size() <= max_metadata_value_bytes;
    if (!is_fine) return expectation(field, rules);
    metadata[name] = *text;
  }
  return std::nullopt;
}

Complaint read_metadata(const Field& field, const Value& value, const RequestRules& rules,
                        SandboxRequest& request) {
  return read_metadata_into(field, value, rules, request.metadata);
}

Complaint read_new_metadata(const Field& field, const Value& value, const RequestRules& rules,
                            SandboxChange& request) {
  return read_metadata_into(field, value, rules, request.metadata.emplace());
}

// Reads a number of seconds; sets `if_null` for null.
template <auto member, class Request>
Complaint read_seconds_or_null(const Field& field, const Value& value, const RequestRules& rules,
                               Request& request, std::optional<milliseconds> if_null) {
  if (value.is_null()) {
    if (if_null) {
      request.*member = *if_null;
    } else if constexpr (requires { (request.*member)->reset(); }) {
      (request.*member).emplace(std::nullopt);
    }
    return std::nullopt;
  }
  const auto seconds = number_of(value);
  if (!seconds || !is_within(field, *seconds, rules)) {
    return "expected a number " + range_of(field, rules) + ", or null";
  }
  request.*member = milliseconds(std::llround(*seconds * 1000));
  return std::nullopt;
}

template <auto member, class Request>
Complaint read_lifetime(const Field& field, const Value& value, const RequestRules& rules,
                        Request& request) {
  return read_seconds_or_null<member>(field, value, rules, request, rules.max_lifetime);
}

template <auto member, class Request>
Complaint read_idle(const Field& field, const Value& value, const RequestRules& rules,
                    Request& request) {
  return read_seconds_or_null<member>(field, value, rules, request, std::nullopt);
}

Complaint read_new_network(const Field& field, const Value& value, const RequestRules& rules,
                           SandboxChange& request) {
  return read_sandbox_network(field, value, rules, request.network.emplace());
}

Complaint read_first_network(const Field& field, const Value& value, const RequestRules& rules,
                             SandboxRequest& request) {
  return read_sandbox_network(field, value, rules, request.network);
}

constexpr RequestField<SandboxRequest> limit_rows[] = {
    {memory_field("memory_mb", "Of all its processes and files together."),
     read_integer<&SandboxRequest::memory_mb>},
    {{.name = "processes",
      .type = Type::integer,
      .min = 1,
      .max = max_processes,
      .default_json = "128",
      .description = "With their threads."},
     read_integer<&SandboxRequest::processes>},
    {{.name = "disk_mb",
      .type = Type::integer,
      .min = 1,
      .operator_max = max_disk_mb,
      .default_json = "64",
      .description =
          "Of /workspace, and as much of /tmp. Both are memory, within memory_mb, and 1024 is the "
          "most; but with disk_kind: directory only /tmp is, and /workspace may be larger than "
          "memory."},
     read_integer<&SandboxRequest::disk_mb>}};

std::string limit_schemas(const RequestRules& rules) {
  return properties_of(sandbox_limit_fields(), rules);
}

std::optional<Refusal> read_limits(const json::Object& limits, const RequestRules& rules,
                                   SandboxRequest& request) {
  return read_fields(limits, sandbox_limit_fields(), rules, request);
}

constexpr Field lifetime_field = {
    .name = "timeout_seconds",
    .min = 1,
    .operator_max = max_lifetime,
    .operator_default = usual_lifetime,
    .description =
        "How long it may live, without the time in which it is paused; null: as long as the "
        "operator allows. The maximum is the operator's to change "
        "(SANDBOX_MAX_LIFETIME_SECONDS).",
    .schema = {{"type", R"(["number","null"])"}}};

constexpr Field idle_field = {
    .name = "idle_seconds",
    .min = 1,
    .max = 86400,
    .default_json = "null",
    .description =
        "It ends, or is paused as on_timeout says, when no process has run in it and nobody has "
        "asked it anything for so long; null: it does not end by that.",
    .schema = {{"type", R"(["number","null"])"}}};

constexpr Field metadata_field = {
    .name = "metadata",
    .type = Type::map,
    .max = max_metadata,
    .expected = "names of 1 .. 64 bytes to strings of at most 1024 bytes",
    .description = "The caller's own words about it, by which it can be found.",
    .schema = {string_values}};

constexpr RequestField<SandboxRequest> sandbox_rows[] = {
    {{.name = "template",
      .type = Type::text,
      .words = template_words,
      .default_json = R"("none")",
      .description = "Whose root and policy it has; none: the server's own."},
     read_text<&SandboxRequest::template_name>},
    {{.name = "name",
      .type = Type::text,
      .min = 1,
      .max = max_name_bytes,
      .expected = "a to z, 0 to 9 and -, 1 .. 50 of them, not in the form of an id",
      .description = "Works wherever its id does, also when it has ended, until another one has "
                     "the name. One of the caller's others that lives must not have it.",
      .schema = {{"pattern", R"("^[a-z0-9-]+$")"}}},
     read_text_that<&SandboxRequest::name, is_sandbox_name>},
    {env_field("For every process in it."), read_variables<&SandboxRequest::env>},
    {{.name = "working_directory",
      .type = Type::text,
      .min = 1,
      .max = max_path_bytes,
      .expected = "an absolute path",
      .default_json = R"("/workspace")",
      .description = "Where its processes start. It is made where it is not there."},
     read_text_that<&SandboxRequest::working_directory, is_absolute_path>},
    {metadata_field, read_metadata},
    {{.name = "limits",
      .expected = "an object with memory_mb, processes or disk_mb",
      .description = "What all of it may use together.",
      .members = limit_schemas,
      .schema = {{"type", R"("object")"}, {"additionalProperties", "false"}}},
     nullptr,
     read_limits},
    {{.name = "disk_kind",
      .type = Type::text,
      .words = disk_words,
      .default_json = R"("memory")",
      .description =
          "What /workspace is: memory, or a directory on the host's disk, where the operator has "
          "set one aside (SANDBOX_DISK_PATH). A sandbox whose directory takes more than disk_mb, "
          "or has more than 65536 files, ends (disk_full). It is removed with the sandbox."},
     read_word_with_hint<&SandboxRequest::is_on_disk, is_directory, hint_at_disks>},
    {lifetime_field, read_lifetime<&SandboxRequest::timeout>},
    {idle_field, read_idle<&SandboxRequest::idle>},
    {{.name = "on_timeout",
      .type = Type::text,
      .words = timeout_words,
      .default_json = R"("delete")",
      .description =
          "What becomes of it when timeout_seconds are over, or idle_seconds: it ends, or it is "
          "paused. Resumed, it has timeout_seconds again. At the operator's maximum it ends."},
     read_word<&SandboxRequest::pauses_at_its_end, is_pause>},
    {{.name = "auto_resume",
      .type = Type::boolean,
      .default_json = "true",
      .description = "Whether a request that needs its processes or files resumes it where it is "
                     "paused; else that is a 409."},
     read_flag<&SandboxRequest::resumes_on_demand>},
    {sandbox_network_field, read_first_network},
    {sandbox_volumes_field, read_mounts<&SandboxRequest::volumes>},
    {declared_ports_field, read_ports<&SandboxRequest::ports>}};

// A field that is left out of a change keeps its value, so it has no default.
constexpr Field without_default(Field field) {
  field.default_json = {};
  field.operator_default = nullptr;
  return field;
}

constexpr RequestField<SandboxChange> change_rows[] = {
    {without_default(lifetime_field), read_lifetime<&SandboxChange::timeout>},
    {without_default(idle_field), read_idle<&SandboxChange::idle>},
    {metadata_field, read_new_metadata},
    {without_default(sandbox_network_field), read_new_network}};

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
  request.timeout = milliseconds(std::llround(*seconds * 1000));
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
                 {"examples", R"(["make -j2 test",["python3","-m","http.server"]])"}},
      .is_required = true},
     read_command},
    {env_field("Over that of the sandbox."), read_variables<&ProcessRequest::env>},
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

constexpr RequestField<FileRequest> file_rows[] = {
    {{.name = "move_to",
      .type = Type::text,
      .min = 1,
      .max = max_path_bytes,
      .expected = "an absolute path",
      .description = "Its new path. A file that is there is replaced, a directory is not."},
     read_text_that<&FileRequest::move_to, is_absolute_path>},
    {{.name = "make_directory",
      .type = Type::boolean,
      .default_json = "false",
      .description = "Makes a directory of that path, and those above it."},
     read_flag<&FileRequest::make_directory>}};

}  // namespace

std::span<const RequestField<SandboxRequest>> sandbox_fields() noexcept { return sandbox_rows; }
std::span<const RequestField<SandboxRequest>> sandbox_limit_fields() noexcept { return limit_rows; }
std::span<const RequestField<SandboxChange>> sandbox_change_fields() noexcept {
  return change_rows;
}
std::span<const RequestField<ProcessRequest>> process_fields() noexcept { return process_rows; }
std::span<const RequestField<ResizeRequest>> process_resize_fields() noexcept {
  return resize_rows;
}
std::span<const RequestField<FileRequest>> file_action_fields() noexcept { return file_rows; }

SandboxRequest default_sandbox(const RequestRules& rules) {
  SandboxRequest request;
  request.memory_mb = rules.default_memory_limit_mb;
  request.timeout = std::min(request.timeout, rules.max_lifetime);
  return request;
}

std::optional<Refusal> check_sandbox(const SandboxRequest& request) {
  if (!request.is_on_disk && request.disk_mb > max_memory_disk_mb) {
    return Refusal{.code = RefusalCode::out_of_range,
                   .detail = "limits: disk_mb: expected an integer 1 .. " +
                             std::to_string(max_memory_disk_mb) +
                             ", or with it disk_kind: directory"};
  }
  return check_arguments("env", {}, request.env);
}

std::optional<Refusal> check_process(const ProcessRequest& request) {
  return check_arguments("command, env", request.argv, request.env);
}

std::optional<Refusal> check_file_action(const FileRequest& request) {
  if (request.move_to.empty() == request.make_directory) return std::nullopt;
  return refuse_request("body: expected exactly one of move_to and make_directory");
}

Complaint elsewhere_than_in_sandbox(std::string_view name) {
  if (name == "args" || name == "cmd" || name == "command") {
    return "a new sandbox runs no program of its own; start one in it with POST "
           "/v1/sandboxes/{id}/processes";
  }
  if (name == "image") {
    return "a sandbox is made from a template and not from an image; GET /v1/templates lists them";
  }
  return std::nullopt;
}

bool is_absolute_path(std::string_view text) {
  return text.starts_with('/') && text.size() <= max_path_bytes && !has_nul(text);
}

bool is_sandbox_id(std::string_view text) noexcept {
  return text.size() == 26 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == text.npos;
}

}  // namespace runtime
