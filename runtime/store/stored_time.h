// Times as the databases store them: microseconds since 1970, so that consecutive actions of one
// caller keep their order.
#pragma once

#include <chrono>
#include <cstdint>

namespace runtime {

inline std::int64_t to_microseconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

inline std::chrono::system_clock::time_point from_microseconds(std::int64_t time) {
  return std::chrono::system_clock::time_point(std::chrono::microseconds(time));
}

}  // namespace runtime
