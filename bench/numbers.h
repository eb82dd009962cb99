// Measured times, and their output for run.py: one line of JSON for each command.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;
using Times = std::vector<double>;  // microseconds

inline double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Writes {"name": value, ...}; the names are ours and need no escapes.
class Line {
 public:
  Line& number(std::string_view name, double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", value);
    return raw(name, text);
  }

  Line& word(std::string_view name, std::string_view value) {
    std::string text = "\"";
    for (const char letter : value) {
      if (letter == '"' || letter == '\\') text += '\\';
      text += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
    return raw(name, text + '"');
  }

  Line& times(std::string_view name, const Times& values) {
    std::string list = "[";
    char text[64];
    for (const double value : values) {
      std::snprintf(text, sizeof text, "%s%.1f", list.size() == 1 ? "" : ",", value);
      list += text;
    }
    return raw(name, list + ']');
  }

  void print() const {
    std::printf("{%s}\n", members_.c_str());
    std::fflush(stdout);
  }

 private:
  Line& raw(std::string_view name, const std::string& value) {
    if (!members_.empty()) members_ += ", ";
    members_.append("\"").append(name).append("\": ").append(value);
    return *this;
  }

  std::string members_;
};

}  // namespace bench
