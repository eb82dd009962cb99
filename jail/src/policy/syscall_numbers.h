// What the name of a system call in a policy stands for on the architecture of this build.
#pragma once

#include <optional>
#include <string>

namespace jail {

// The number; negative for a call that only other architectures have (`open` on aarch64), which a
// portable policy may name; nothing for a name that no architecture knows.
std::optional<int> syscall_number(const std::string& name);

}  // namespace jail
