// The text form of times in the API.
#pragma once

#include <chrono>
#include <string>

namespace runtime::json {

// Returns text such as "2026-11-21T20:16:00.123Z".
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace runtime::json
