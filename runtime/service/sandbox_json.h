// Sandboxes, their processes and files as JSON for callers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/sandbox/outcome.h"
#include "runtime/service/process_output.h"
#include "runtime/service/sandboxes.h"

namespace runtime {

// Parses "running", "paused" or "ended"; returns std::nullopt for any other text.
std::optional<Sandbox::State> sandbox_state_named(std::string_view name);

// What /workspace is: "memory" or "directory".
std::string_view disk_kind_of(const SandboxRequest& request);

// The names of a sandbox's limits in the request that makes it.
inline constexpr LimitNames sandbox_limits = {.time = "timeout_seconds",
                                              .memory = "limits.memory_mb",
                                              .idle = "idle_seconds",
                                              .disk = "limits.disk_mb"};

// Whether the reader of a sandbox gets its access token; `as_null`: the member is null.
enum class TokenShown : std::uint8_t { no, as_null, yes };
void write_sandbox(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   TokenShown token = TokenShown::no);
// Writes the members of a process, within an object.
void write_process_members(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                           const LivingProcess& process);
// Writes a process as an object.
void write_process(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process);
// The same with its output.
void write_process(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process, const ProcessOutput& output,
                   OutputEncoding encoding);
void write_file_entry(json::Writer& writer, const FileEntry& entry);
// Returns a name such as "created".
std::string_view name_of(FileEvent::Type type) noexcept;
void write_file_event(json::Writer& writer, const FileEvent& event);
void write_file_list(json::Writer& writer, const FileList& list);

void write_event(json::Writer& writer, const SandboxEvent& event);
void write_usage(json::Writer& writer, const SandboxUsage& usage);
void write_egress_use(json::Writer& writer, const EgressUse& use);
// Writes the limits of a sandbox; each belongs to the same member of its usage.
void write_usage_limits(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox);

// The bytes of output as a JSON string.
std::string output_json(std::string_view bytes, OutputEncoding encoding);

}  // namespace runtime
