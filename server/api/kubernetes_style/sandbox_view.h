// A sandbox in the form that clients of this interface expect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/writer.h"
#include "runtime/service/sandboxes.h"

namespace server::kubernetes_style {

// Returns its name, or its id where it has none.
const std::string& name_of(const runtime::Sandbox& sandbox);

// Returns a text such as "Sandbox NAME paused successfully".
std::string success(const runtime::Sandbox& sandbox, std::string_view done);

void write_named_sandbox(runtime::json::Writer& writer, const runtime::Sandboxes& sandboxes,
                         const runtime::Sandbox& sandbox);

}  // namespace server::kubernetes_style
