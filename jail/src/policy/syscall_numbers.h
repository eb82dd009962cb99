// The number of a named system call on the architecture of this build.
#pragma once

#include <optional>
#include <string>

namespace jail {

// Returns the number; a negative one for a call that only other architectures have (`open` on
// aarch64), which a portable policy may name; std::nullopt for a name that no architecture knows.
std::optional<int> syscall_number(const std::string& name);

}  // namespace jail
