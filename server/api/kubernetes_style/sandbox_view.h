// A sandbox as clients of this interface read it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/writer.h"
#include "runtime/service/sandboxes.h"

namespace server::kubernetes_style {

// Its name; its id where it has none.
const std::string& name_of(const runtime::Sandbox& sandbox);

// "Sandbox NAME paused successfully"
std::string success(const runtime::Sandbox& sandbox, std::string_view done);

void write_named_sandbox(runtime::json::Writer& writer, const runtime::Sandboxes& sandboxes,
                         const runtime::Sandbox& sandbox);

// What it has used, as far as it is known: of the processes that have ended, by their own reports.
struct Use {
  std::uint64_t cpu_millicores = 0;  // on average, since it was made
  std::uint64_t memory_bytes = 0;    // the most that one process had
};
Use use_of(const runtime::Sandbox& sandbox);

// The last lines of what is kept of the output of its processes, process by process, the one that
// was started first comes first. At most a MiB.
std::string last_lines_of(const runtime::Sandbox& sandbox, std::uint32_t lines);

}  // namespace server::kubernetes_style
