// Deadlines of tests on hosts of any speed: a bound on a wait for something that should happen is
// given as `scaled(time)`. The times that a test asserts, and deadlines that are meant to be
// missed, are never scaled.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>

// The factor compared to a fast host: JAIL_TEST_TIME_SCALE, which tests/rings.py sets; 1 without
// it.
inline double time_scale() {
  const char* scale = std::getenv("JAIL_TEST_TIME_SCALE");
  return scale == nullptr ? 1 : std::max(1.0, std::strtod(scale, nullptr));
}

inline std::chrono::milliseconds scaled(std::chrono::milliseconds deadline) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(deadline * time_scale());
}

// The time for poll().
inline int scaled_ms(int milliseconds) {
  return static_cast<int>(scaled(std::chrono::milliseconds(milliseconds)).count());
}
