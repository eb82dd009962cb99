// Functions on unsigned numbers, for code without a C++ library.
#pragma once

#include <cstdint>

namespace jail::child {

constexpr std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }
constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// `all` minus `part`, or 0 where that would be negative.
constexpr std::uint64_t beyond(std::uint64_t all, std::uint64_t part) {
  return all > part ? all - part : 0;
}

}  // namespace jail::child
