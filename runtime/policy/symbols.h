// The names that a policy file may use for numbers, with the values of this architecture's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace runtime::policy {

// "EPERM" -> 1. Returns std::nullopt for an unknown name.
std::optional<int> error_number(std::string_view name);

// Accepts "AF_UNIX", "TIOCSTI", "CLONE_NEWUSER", "PR_SET_NAME", "F_SETLEASE" ...
std::optional<std::uint32_t> argument_value(std::string_view name);

}  // namespace runtime::policy
