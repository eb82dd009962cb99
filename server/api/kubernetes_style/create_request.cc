#include "server/api/kubernetes_style/create_request.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/service/declared_ports.h"
#include "runtime/service/field_readers.h"
#include "server/api/decode.h"
#include "server/api/kubernetes_style/quantity.h"

namespace server::kubernetes_style {
namespace {

using runtime::Complaint;
using runtime::Field;
using runtime::Refusal;
using runtime::RequestField;
using runtime::RequestRules;
using runtime::json::Object;
using runtime::json::Value;
using Type = Field::Type;

constexpr double usual_minutes = 60;
constexpr double max_minutes = 1440;
constexpr double usual_idle_minutes = 10;
constexpr double max_idle_minutes = 60;
constexpr std::int64_t usual_seconds = 1800;
constexpr std::int64_t max_idle_seconds = 3000;
constexpr std::uint32_t usual_memory_mb = 1024;
// The size of /workspace, and of /tmp: half of the memory, within these bounds.
constexpr std::uint32_t min_disk_mb = 64;
constexpr std::uint32_t max_disk_mb = 1024;
constexpr std::size_t max_app_bytes = 1024;

// Only whole minutes; an operator who allows less than one gets none.
double minutes_allowed(const RequestRules& rules) {
  const double allowed = std::chrono::duration<double, std::ratio<60>>(rules.max_lifetime).count();
  return std::max(1.0, std::min(max_minutes, std::floor(allowed)));
}

double minutes_by_default(const RequestRules& rules) {
  return std::min(usual_minutes, minutes_allowed(rules));
}

// Reads the member by the rules of the service's own field.
Complaint read_as(std::string_view name, const Value& value, const RequestRules& rules,
                  CreateRequest& request) {
  const auto& row = *runtime::find_row(runtime::sandbox_fields(), name);
  return row.read(row.field, value, rules, request.sandbox);
}

Complaint read_name(const Field&, const Value& value, const RequestRules& rules,
                    CreateRequest& request) {
  return read_as("name", value, rules, request);
}

Complaint read_environment(const Field&, const Value& value, const RequestRules& rules,
                           CreateRequest& request) {
  return read_as("template", value, rules, request);
}

Complaint read_env(const Field&, const Value& value, const RequestRules& rules,
                   CreateRequest& request) {
  return read_as("env", value, rules, request);
}

Complaint read_workdir(const Field&, const Value& value, const RequestRules& rules,
                       CreateRequest& request) {
  return read_as("working_directory", value, rules, request);
}

Complaint read_args(const Field&, const Value&, const RequestRules&, CreateRequest&) {
  return "there is no program of the sandbox's own to pass them to; leave it out, and start one "
         "with POST /api/v1/terminal/sandbox/{name}";
}

Complaint read_image(const Field&, const Value&, const RequestRules& rules, CreateRequest&) {
  return "a sandbox is made from a template and not from an image; leave it out, and name one of " +
         runtime::template_names(rules, std::nullopt) + " in environment";
}

Complaint read_status(const Field&, const Value&, const RequestRules&, CreateRequest&) {
  return "it is the server's to say; leave it out";
}

Complaint read_app(const Field& field, const Value& value, const RequestRules& rules,
                   CreateRequest& request) {
  const std::string* const text = runtime::text_of(field, value, rules);
  if (text == nullptr) return runtime::expectation(field, rules);
  request.sandbox.metadata[std::string(app_metadata)] = *text;
  return std::nullopt;
}

Complaint read_ports(const Field&, const Value& value, const RequestRules& rules,
                     CreateRequest& request) {
  return read_as("ports", value, rules, request);
}

template <auto member>
Complaint read_time(const Field&, const Value& value, const RequestRules&, CreateRequest& request) {
  const std::int64_t* const number = value.as_integer();
  if (number == nullptr) return "expected an integer of minutes, or of seconds as template says";
  request.*member = *number;
  return std::nullopt;
}

// Reads a field that earlier clients have under the name of `reads`, or not at all.
template <auto reads>
Complaint read_later(const Field& field, const Value& value, const RequestRules& rules,
                     CreateRequest& request) {
  request.is_later = true;
  return reads(field, value, rules, request);
}

Complaint read_metadata(const Field&, const Value& value, const RequestRules& rules,
                        CreateRequest& request) {
  const auto app = request.sandbox.metadata.find(app_metadata);
  const std::string word = app == request.sandbox.metadata.end() ? "" : app->second;
  auto complaint = read_as("metadata", value, rules, request);
  if (!word.empty()) request.sandbox.metadata[std::string(app_metadata)] = word;
  return complaint;
}

Complaint read_port(const Field& field, const Value& value, const RequestRules& rules,
                    CreateRequest& request) {
  const std::int64_t* const port = value.as_integer();
  if (port == nullptr || !runtime::is_within(field, static_cast<double>(*port), rules)) {
    return runtime::expectation(field, rules);
  }
  auto& ports = request.sandbox.ports;
  const auto number = static_cast<std::uint32_t>(*port);
  std::erase(ports, number);
  ports.insert(ports.begin(), number);
  return std::nullopt;
}

Complaint read_auto_pause(const Field& field, const Value& value, const RequestRules& rules,
                          CreateRequest& request) {
  if (value.as_bool() == nullptr) return runtime::expectation(field, rules);
  request.sandbox.pauses_at_its_end = *value.as_bool();
  return std::nullopt;
}

Complaint read_auto_resume(const Field&, const Value& value, const RequestRules& rules,
                           CreateRequest& request) {
  return read_as("auto_resume", value, rules, request);
}

std::vector<std::string> policy_words(const RequestRules&) { return {"delete", "scaledown"}; }

Complaint read_idle_policy(const Field& field, const Value& value, const RequestRules& rules,
                           CreateRequest& request) {
  const std::string* const word = runtime::text_of(field, value, rules);
  if (word == nullptr) return runtime::expectation(field, rules);
  request.sandbox.pauses_at_its_end = *word == "scaledown";
  return std::nullopt;
}

template <auto member>
Complaint read_millicores(const Field&, const Value& value, const RequestRules&,
                          CreateRequest& request) {
  const std::string* const text = value.as_string();
  const auto amount = text == nullptr ? std::nullopt : millicores_of(*text);
  if (!amount || *amount == 0) {
    return "expected processors as a string, such as \"500m\", \"1\" or \"0.5\"";
  }
  request.*member = *amount;
  return std::nullopt;
}

// Returns std::nullopt where the value is not an amount.
std::optional<std::uint64_t> memory_in(const Value& value) {
  const std::string* const text = value.as_string();
  return text == nullptr ? std::nullopt : bytes_of(*text);
}

constexpr std::string_view expected_memory =
    "expected bytes as a string with a unit, such as \"128Mi\" or \"1Gi\"";

Complaint read_memory(const Field&, const Value& value, const RequestRules&,
                      CreateRequest& request) {
  const auto bytes = memory_in(value);
  if (!bytes) return std::string(expected_memory);
  request.memory_bytes = *bytes;
  return std::nullopt;
}

Complaint read_memory_limit(const Field&, const Value& value, const RequestRules& rules,
                            CreateRequest& request) {
  const auto bytes = memory_in(value);
  if (!bytes) return std::string(expected_memory);
  const std::uint64_t mebibytes = *bytes >> 20;
  if (mebibytes < runtime::min_memory_limit_mb || mebibytes > rules.ceilings.memory_limit_mb) {
    return "expected " + mebibytes_text(runtime::min_memory_limit_mb) + " .. " +
           mebibytes_text(rules.ceilings.memory_limit_mb);
  }
  request.sandbox.memory_mb = static_cast<std::uint32_t>(mebibytes);
  return std::nullopt;
}

constexpr Field::Member type_string = {"type", R"("string")"};

constexpr RequestField<CreateRequest> rows[] = {
    {{.name = "name",
      .description = "a to z, 0 to 9 and -, 1 .. 50 of them. Without it, one is made: "
                     "sandbox-ENVIRONMENT-SECONDS.",
      .schema = {type_string}},
     read_name},
    {{.name = "environment",
      .default_json = R"("none")",
      .description = "The template whose root and policy it has.",
      .schema = {type_string}},
     read_environment},
    {{.name = "args",
      .description = "Empty: a sandbox has no program of its own.",
      .schema = {{"type", R"(["array","null"])"}, {"items", "{}"}, {"maxItems", "0"}}},
     read_args},
    {{.name = "app",
      .type = Type::text,
      .max = max_app_bytes,
      .unit = "bytes",
      .description = "The caller's own word about it, kept as its metadata `app`."},
     read_app},
    {{.name = "image",
      .description = "Empty: sandboxes are made from templates.",
      .schema = {type_string, {"maxLength", "0"}}},
     read_image},
    {{.name = "env",
      .description = "Variables of every process in it.",
      .schema = {{"type", R"(["object","null"])"},
                 {"additionalProperties", R"({"type":"string"})"}}},
     read_env},
    {{.name = "timeout",
      .description = "Minutes that it may live, pauses aside: 1440 at most, by default 60, within "
                     "what the operator allows. Seconds where a later client asks; see template.",
      .schema = {{"type", R"("integer")"}}},
     read_time<&CreateRequest::timeout>},
    {{.name = "idle_timeout",
      .description = "Minutes in which nothing uses it, after which idle_policy is done: 60 at "
                     "most, by default 10. Seconds where a later client asks; see template.",
      .schema = {{"type", R"("integer")"}}},
     read_time<&CreateRequest::idle_timeout>},
    {{.name = "idle_policy",
      .type = Type::text,
      .words = policy_words,
      .default_json = R"("delete")",
      .description = "What becomes of it when it is idle, or its time is over: it ends, or it is "
                     "paused."},
     read_idle_policy},
    {{.name = "workdir",
      .default_json = R"("/workspace")",
      .description = "Where its processes start, an absolute path.",
      .schema = {type_string}},
     read_workdir},
    {{.name = "cpu",
      .default_json = R"("100m")",
      .description = "At most as much as it may use.",
      .schema = {type_string}},
     read_millicores<&CreateRequest::cpu_millicores>},
    {{.name = "memory",
      .default_json = R"("128Mi")",
      .description = "At most as much as it may use.",
      .schema = {type_string}},
     read_memory},
    {{.name = "cpu_limit",
      .description = "At most what every sandbox may use here (SANDBOX_CPU_LIMIT), which it gets.",
      .schema = {type_string}},
     read_millicores<&CreateRequest::cpu_limit_millicores>},
    {{.name = "memory_limit",
      .default_json = R"("1024Mi")",
      .description = "What all of its processes and files may use together.",
      .schema = {type_string}},
     read_memory_limit},
    {{.name = "ports",
      .type = Type::list,
      .max = runtime::max_declared_ports,
      .description = "Ports on which servers in it will listen; each can be reached, named or not.",
      .schema = {{"type", R"(["array","null"])"},
                 {"items", R"({"type":"integer","minimum":1,"maximum":65535})"}}},
     read_ports},
    {{.name = "status", .description = "Empty.", .schema = {type_string, {"maxLength", "0"}}},
     read_status},
    {{.name = "template",
      .description = "As environment. With it, as with each of the fields behind it here, timeout "
                     "and idle_timeout are seconds: -1 is none, and by default they are 1800 and "
                     "none.",
      .schema = {type_string}},
     read_later<read_environment>},
    {{.name = "envVars",
      .description = "As env.",
      .schema = {{"type", R"(["object","null"])"},
                 {"additionalProperties", R"({"type":"string"})"}}},
     read_later<read_env>},
    {{.name = "metadata",
      .description = "The caller's own words about it.",
      .schema = {{"type", R"(["object","null"])"},
                 {"additionalProperties", R"({"type":"string"})"}}},
     read_later<read_metadata>},
    {{.name = "port",
      .type = Type::integer,
      .min = 1,
      .max = 65'535,
      .description = "The first of ports, which /sandbox/{name}/ leads to."},
     read_later<read_port>},
    {{.name = "autoPause",
      .type = Type::boolean,
      .default_json = "false",
      .description = "Whether it is paused where it would end by itself."},
     read_later<read_auto_pause>},
    {{.name = "autoResume",
      .type = Type::boolean,
      .default_json = "true",
      .description = "Whether a request that needs it resumes it."},
     read_later<read_auto_resume>},
    {{.name = "cmd",
      .description = "Empty: a sandbox has no program of its own.",
      .schema = {{"type", R"(["string","array","null"])"}, {"items", "{}"}, {"maxItems", "0"}}},
     read_args}};

bool is_blank(const Value& value) {
  if (const auto* text = value.as_string()) return text->empty();
  if (const auto* number = value.as_integer()) return *number == 0;
  if (const auto* list = value.as_array()) return list->empty();
  if (const auto* object = value.as_object()) return object->empty();
  return value.is_null();
}

CreateRequest default_request(const RequestRules& rules) {
  CreateRequest request;
  request.sandbox = runtime::default_sandbox(rules);
  request.sandbox.timeout =
      std::chrono::minutes(static_cast<std::int64_t>(minutes_by_default(rules)));
  request.sandbox.idle = std::chrono::minutes(static_cast<std::int64_t>(usual_idle_minutes));
  request.sandbox.memory_mb = std::min(usual_memory_mb, rules.ceilings.memory_limit_mb);
  return request;
}

Refusal too_much(std::string detail, double limit, double used) {
  return {
      .code = RefusalCode::out_of_range, .detail = std::move(detail), .limit = limit, .used = used};
}

// Refuses `asked` millicores under `name` where they exceed `allowed`.
std::optional<Refusal> check_cores(std::string_view name, std::uint64_t asked, double cores) {
  const double allowed = std::round(cores * 1000);
  if (static_cast<double>(asked) <= allowed) return std::nullopt;
  return too_much(std::string(name) + ": expected at most " + millicores_text(cores) +
                      ", which is what every sandbox may use here (SANDBOX_CPU_LIMIT)",
                  allowed, static_cast<double>(asked));
}

std::optional<Refusal> check(const CreateRequest& request, double cores) {
  if (auto refusal = check_cores("cpu_limit", request.cpu_limit_millicores, cores)) return refusal;
  if (auto refusal = check_cores("cpu", request.cpu_millicores, cores)) return refusal;
  if (request.cpu_limit_millicores != 0 && request.cpu_millicores > request.cpu_limit_millicores) {
    return too_much("cpu: expected no more than cpu_limit",
                    static_cast<double>(request.cpu_limit_millicores),
                    static_cast<double>(request.cpu_millicores));
  }
  const std::uint64_t memory = std::uint64_t{request.sandbox.memory_mb} << 20;
  if (request.memory_bytes > memory) {
    return too_much("memory: expected no more than memory_limit, which is " +
                        mebibytes_text(request.sandbox.memory_mb),
                    static_cast<double>(memory), static_cast<double>(request.memory_bytes));
  }
  return runtime::check_sandbox(request.sandbox);
}

std::optional<Refusal> set_seconds(const RequestRules& rules, CreateRequest& request) {
  runtime::SandboxRequest& sandbox = request.sandbox;
  const std::int64_t longest =
      std::chrono::duration_cast<std::chrono::seconds>(rules.max_lifetime).count();
  const std::int64_t timeout = request.timeout.value_or(std::min(usual_seconds, longest));
  const std::int64_t idle = request.idle_timeout.value_or(-1);
  if (timeout < -1 || timeout > longest) {
    return too_much("timeout: expected an integer -1 .. " + std::to_string(longest) + " seconds",
                    static_cast<double>(longest), static_cast<double>(timeout));
  }
  if (idle > max_idle_seconds) {
    return too_much("idle_timeout: expected an integer of at most " +
                        std::to_string(max_idle_seconds) + " seconds",
                    static_cast<double>(max_idle_seconds), static_cast<double>(idle));
  }
  sandbox.timeout = timeout == -1 ? rules.max_lifetime : std::chrono::seconds(timeout);
  sandbox.idle.reset();
  if (idle > 0) sandbox.idle = std::chrono::seconds(idle);
  return std::nullopt;
}

constexpr Field minutes_field = {.name = "timeout",
                                 .type = Type::integer,
                                 .min = 1,
                                 .unit = "minutes",
                                 .operator_max = minutes_allowed};
constexpr Field idle_minutes_field = {.name = "idle_timeout",
                                      .type = Type::integer,
                                      .min = 1,
                                      .max = max_idle_minutes,
                                      .unit = "minutes"};

std::optional<Refusal> check_minutes(const Field& field, std::optional<std::int64_t> minutes,
                                     const RequestRules& rules) {
  if (!minutes || runtime::is_within(field, static_cast<double>(*minutes), rules)) {
    return std::nullopt;
  }
  return runtime::refuse_value(field, Value(*minutes), rules, runtime::expectation(field, rules));
}

std::optional<Refusal> set_times(const RequestRules& rules, CreateRequest& request) {
  if (request.is_later) return set_seconds(rules, request);
  if (auto refusal = check_minutes(minutes_field, request.timeout, rules)) return refusal;
  if (auto refusal = check_minutes(idle_minutes_field, request.idle_timeout, rules)) return refusal;
  if (request.timeout) request.sandbox.timeout = std::chrono::minutes(*request.timeout);
  if (request.idle_timeout) request.sandbox.idle = std::chrono::minutes(*request.idle_timeout);
  return std::nullopt;
}

}  // namespace

std::span<const RequestField<CreateRequest>> create_fields() noexcept { return rows; }

std::variant<runtime::SandboxRequest, Response> decode_create(std::string_view body,
                                                              const RequestRules& rules,
                                                              double cores) {
  auto read = object_of(body);
  if (auto* refusal = std::get_if<Response>(&read)) return std::move(*refusal);
  Object given = *std::get<Value>(read).as_object();
  std::erase_if(given, [](const auto& member) {
    return runtime::find_row(create_fields(), member.first) != nullptr && is_blank(member.second);
  });
  CreateRequest request = default_request(rules);
  if (auto refusal = decode_into(given, create_fields(), rules, request)) {
    return std::move(*refusal);
  }
  if (const auto refusal = set_times(rules, request)) return problem(*refusal);
  request.sandbox.disk_mb = std::clamp(request.sandbox.memory_mb / 2, min_disk_mb, max_disk_mb);
  if (const auto refusal = check(request, cores)) return problem(*refusal);
  return std::move(request.sandbox);
}

}  // namespace server::kubernetes_style
