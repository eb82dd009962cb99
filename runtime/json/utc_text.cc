#include "runtime/json/utc_text.h"

#include <cstdio>
#include <ctime>

namespace runtime::json {

std::string utc_text(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(whole);
  const std::time_t unix_time = seconds.count();
  std::tm utc{};
  ::gmtime_r(&unix_time, &utc);
  char text[64];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                    utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                    static_cast<int>((whole - seconds).count()));
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace runtime::json
