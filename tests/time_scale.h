// Deadlines of tests on hosts of any speed: what only bounds a wait for something that should
// happen is given as `scaled(time)`. What a test asserts, and a deadline that is to be missed,
// never is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>

// How many times as long as on a fast host: JAIL_TEST_TIME_SCALE, which tests/rings.py sets; 1
// without it.
inline double time_scale() {
  const char* scale = std::getenv("JAIL_TEST_TIME_SCALE");
  return scale == nullptr ? 1 : std::max(1.0, std::strtod(scale, nullptr));
}

inline std::chrono::milliseconds scaled(std::chrono::milliseconds deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline * time_scale());
}

// For poll().
inline int scaled_ms(int milliseconds) {
  return static_cast<int>(scaled(std::chrono::milliseconds(milliseconds)).count());
}
