#include "runtime/service/sandbox_requests.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "jail/egress.h"
#include "runtime/secrets/secret_gateway.h"
#include "runtime/service/common_fields.h"
#include "runtime/service/declared_ports.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_limit_fields.h"

namespace runtime {
namespace {

using json::Value;
using Type = Field::Type;
using Words = std::vector<std::string>;

constexpr std::size_t max_name_bytes = 50;
constexpr std::size_t max_metadata = 32;
constexpr std::size_t max_metadata_name_bytes = 64;
constexpr std::size_t max_metadata_value_bytes = 1024;
constexpr std::uint32_t min_processes_when_warm = 4;  // as jail::Pool::launch_living() has it

double max_lifetime(const RequestRules& rules) {
  return std::chrono::duration<double>(rules.max_lifetime).count();
}

double usual_lifetime(const RequestRules& rules) { return std::min(3600.0, max_lifetime(rules)); }

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
                               Request& request, std::optional<std::chrono::milliseconds> if_null) {
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
  request.*member = std::chrono::milliseconds(std::llround(*seconds * 1000));
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

std::string limit_schemas(const RequestRules& rules) {
  return properties_of(sandbox_limit_fields(), rules);
}

std::optional<Refusal> read_limits(const json::Object& limits, const RequestRules& rules,
                                   SandboxRequest& request) {
  return read_fields(limits, sandbox_limit_fields(), rules, request);
}

std::string new_limit_schemas(const RequestRules& rules) {
  return properties_of(sandbox_limit_change_fields(), rules);
}

std::optional<Refusal> read_new_limits(const json::Object& limits, const RequestRules& rules,
                                       SandboxChange& request) {
  return read_fields(limits, sandbox_limit_change_fields(), rules, request.limits.emplace());
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
    {env_field("For every process in it."), read_with<read_variables_into, &SandboxRequest::env>},
    {{.name = "working_directory",
      .type = Type::text,
      .min = 1,
      .max = max_path_bytes,
      .expected = "an absolute path",
      .default_json = R"("/workspace")",
      .description = "Where its processes start. It is made where it is not there."},
     read_text_that<&SandboxRequest::working_directory, is_absolute_path>},
    {metadata_field, read_metadata},
    {sandbox_limits_field("What all of it may use together.", limit_schemas), nullptr, read_limits},
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
    {{.name = "warm",
      .type = Type::boolean,
      .default_json = "false",
      .description =
          "Whether it is made from a template whose Python interpreter waits with its modules "
          "imported, python where no template is named. Programs of it (code) then begin as forks "
          "of that interpreter. Its processes have no terminals and neither signal nor see each "
          "other, and its files are in memory. It takes Linux 6.12."},
     read_flag<&SandboxRequest::is_warm>},
    {declared_ports_field, read_ports<&SandboxRequest::ports>}};

constexpr RequestField<SandboxChange> change_rows[] = {
    {without_default(lifetime_field), read_lifetime<&SandboxChange::timeout>},
    {without_default(idle_field), read_idle<&SandboxChange::idle>},
    {metadata_field, read_new_metadata},
    {without_default(sandbox_network_field), read_new_network},
    {sandbox_limits_field("Its new limits, while it runs or is paused: all of them, or none where "
                          "one is refused. A limit that is left out stays.",
                          new_limit_schemas),
     nullptr, read_new_limits}};

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

// The template's host makes such a jail, and sees no other part of this machine's disks.
std::optional<Refusal> check_warm(const SandboxRequest& request) {
  if (!request.is_warm) return std::nullopt;
  if (request.is_on_disk) {
    return refuse_request("disk_kind: the files of a warm sandbox are in memory");
  }
  if (!request.volumes.empty()) return refuse_request("volumes: a warm sandbox has none");
  return check_warm_processes(request.processes);
}

}  // namespace

std::span<const RequestField<SandboxRequest>> sandbox_fields() noexcept { return sandbox_rows; }
std::span<const RequestField<SandboxChange>> sandbox_change_fields() noexcept {
  return change_rows;
}
std::span<const RequestField<FileRequest>> file_action_fields() noexcept { return file_rows; }

SandboxLimits limits_of(const SandboxRequest& request) {
  return {.memory_mb = request.memory_mb,
          .processes = request.processes,
          .disk_mb = request.disk_mb,
          .cpu_percent = request.cpu_percent};
}

SandboxRequest default_sandbox(const RequestRules& rules) {
  SandboxRequest request;
  request.memory_mb = rules.default_memory_limit_mb;
  request.timeout = std::min(request.timeout, rules.max_lifetime);
  return request;
}

namespace {

// No server of a sandbox can be reached at these.
std::optional<Refusal> check_ports(const SandboxRequest& request) {
  const auto declares = [&request](std::uint32_t port) {
    return std::find(request.ports.begin(), request.ports.end(), port) != request.ports.end();
  };
  if (declares(secret_gateway_port)) {
    return refuse_request("ports: 3129 is for the gateway of secrets, for programs inside");
  }
  if (declares(jail::egress_port) && !request.network.network.rules.empty()) {
    return refuse_request("ports: 3128 is for the way out of a sandbox that has a network");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> check_sandbox(const SandboxRequest& request) {
  if (!request.is_on_disk && request.disk_mb > max_memory_disk_mb) {
    return Refusal{.code = RefusalCode::out_of_range,
                   .detail = "limits: disk_mb: expected an integer 1 .. " +
                             std::to_string(max_memory_disk_mb) +
                             ", or with it disk_kind: directory"};
  }
  if (auto refusal = check_warm(request)) return refusal;
  if (auto refusal = check_ports(request)) return refusal;
  return check_arguments("env", {}, request.env);
}

std::optional<Refusal> check_warm_processes(std::uint32_t processes) {
  if (processes >= min_processes_when_warm) return std::nullopt;
  return Refusal{.code = RefusalCode::out_of_range,
                 .detail = "limits: processes: expected an integer " +
                           std::to_string(min_processes_when_warm) + " .. " +
                           std::to_string(max_sandbox_processes) + " with warm"};
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
