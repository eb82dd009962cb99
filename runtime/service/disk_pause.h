// How long a disk may be left alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace runtime::disk_pause {

using Pause = std::chrono::milliseconds;

// Guests can write this much, and make so many files.
inline constexpr std::uint64_t bytes_of_a_second = 2ull << 30;
inline constexpr std::uint64_t files_of_a_second = 200'000;
inline constexpr Pause shortest{20};
inline constexpr Pause longest{500};

// Returns how long it takes to use the room up.
inline Pause until_used(std::uint64_t room, std::uint64_t of_a_second) {
  return std::clamp(Pause(room * 1000 / of_a_second), shortest, longest);
}

inline std::uint64_t room_of(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

}  // namespace runtime::disk_pause
