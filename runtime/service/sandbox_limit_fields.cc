#include "runtime/service/sandbox_limit_fields.h"

#include <algorithm>
#include <cmath>

#include "runtime/service/common_fields.h"
#include "runtime/service/field_readers.h"
#include "runtime/service/sandbox_requests.h"

namespace runtime {
namespace {

using Type = Field::Type;

double max_disk_mb(const RequestRules& rules) {
  return std::max(max_memory_disk_mb, rules.max_directory_mb);
}

double max_cpu(const RequestRules& rules) { return rules.max_cpu; }

constexpr Field processes_field = {.name = "processes",
                                   .type = Type::integer,
                                   .min = 1,
                                   .max = max_sandbox_processes,
                                   .default_json = "128",
                                   .description = "With their threads."};

constexpr Field disk_field = {
    .name = "disk_mb",
    .type = Type::integer,
    .min = 1,
    .operator_max = max_disk_mb,
    .default_json = "64",
    .description =
        "Of /workspace, and as much of /tmp. Both are memory, within memory_mb, and 1024 is the "
        "most; but with disk_kind: directory only /tmp is, and /workspace may be larger than "
        "memory."};

constexpr Field cpu_field = {
    .name = "cpu",
    .type = Type::number,
    .min = 0.01,
    .operator_max = max_cpu,
    .operator_default = max_cpu,
    .description =
        "How many processors it may use: 0.5 is half of one. Only a server whose sandboxes have "
        "cgroups takes it, which slow them down; elsewhere nothing would, and it is refused. The "
        "maximum is the operator's to change (SANDBOX_CPU_LIMIT)."};

constexpr std::string_view memory_words = "Of all its processes and files together.";

// Reads a number of processors as percent of one.
template <auto member, class Request>
Complaint read_processors(const Field& field, const json::Value& value, const RequestRules& rules,
                          Request& request) {
  const auto number = number_of(value);
  if (!number || !is_within(field, *number, rules)) return expectation(field, rules);
  request.*member = static_cast<std::uint32_t>(std::lround(*number * 100));
  return std::nullopt;
}

constexpr RequestField<SandboxRequest> limit_rows[] = {
    {memory_field("memory_mb", memory_words), read_integer<&SandboxRequest::memory_mb>},
    {processes_field, read_integer<&SandboxRequest::processes>},
    {disk_field, read_integer<&SandboxRequest::disk_mb>},
    {cpu_field, read_processors<&SandboxRequest::cpu_percent>}};

constexpr RequestField<SandboxLimitChange> limit_change_rows[] = {
    {without_default(memory_field("memory_mb", memory_words)),
     read_integer<&SandboxLimitChange::memory_mb>},
    {without_default(processes_field), read_integer<&SandboxLimitChange::processes>},
    {without_default(disk_field), read_integer<&SandboxLimitChange::disk_mb>},
    {without_default(cpu_field), read_processors<&SandboxLimitChange::cpu_percent>}};

}  // namespace

std::span<const RequestField<SandboxRequest>> sandbox_limit_fields() noexcept { return limit_rows; }
std::span<const RequestField<SandboxLimitChange>> sandbox_limit_change_fields() noexcept {
  return limit_change_rows;
}

}  // namespace runtime
