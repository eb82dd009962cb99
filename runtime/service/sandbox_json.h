// Sandboxes, their processes and files as JSON: what callers get.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/service/sandboxes.h"

namespace runtime {

// "running", "paused" or "ended"; nothing: none of these.
std::optional<Sandbox::State> sandbox_state_named(std::string_view name);

void write_sandbox(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox);
// The members of a process, within an object.
void write_process(json::Writer& writer, const Sandboxes& sandboxes, const Sandbox& sandbox,
                   const LivingProcess& process);
void write_file_entry(json::Writer& writer, const FileEntry& entry);
void write_file_list(json::Writer& writer, const FileList& list);

// Bytes of output as a JSON string.
std::string output_json(std::string_view bytes, OutputEncoding encoding);

}  // namespace runtime
