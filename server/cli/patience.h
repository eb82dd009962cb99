// How long a program that was sent a signal may take to end.
#pragma once

#include <chrono>

namespace server {

inline constexpr std::chrono::seconds patience_with_program{2};

}  // namespace server
