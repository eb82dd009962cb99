// Sandboxes, their processes and files as JSON: what callers get.
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

// "running", "paused" or "ended"; nothing: none of these.
std::optional<Sandbox::State> sandbox_state_named(std::string_view name);

// How the limits of a sandbox are called where it is made.
inline constexpr LimitNames sandbox_limits = {.time = "timeout_seconds",
                                              .memory = "limits.memory_mb"};

// Whether whoever reads a sandbox gets its access token; `as_null`: the member is there without it.
enum class TokenShown : std::uint8_t { no, as_null, yes };
void write_sandbox(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   TokenShown token = TokenShown::no);
// The members of a process, within an object.
void write_process_members(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                           const LivingProcess& process);
// A process as an object.
void write_process(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process);
// The same with what it printed.
void write_process(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process, const ProcessOutput& output,
                   OutputEncoding encoding);
void write_file_entry(json::Writer& writer, const FileEntry& entry);
// "created"
std::string_view name_of(FileEvent::Type type) noexcept;
void write_file_event(json::Writer& writer, const FileEvent& event);
void write_file_list(json::Writer& writer, const FileList& list);

void write_event(json::Writer& writer, const SandboxEvent& event);
void write_usage(json::Writer& writer, const SandboxUsage& usage);
void write_egress_use(json::Writer& writer, const EgressUse& use);
// What a sandbox may use of what is in the same member of its usage.
void write_usage_limits(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox);

// Bytes of output as a JSON string.
std::string output_json(std::string_view bytes, OutputEncoding encoding);

}  // namespace runtime
