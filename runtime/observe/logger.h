// The service's log: one line an event, as text for people or as JSON for machines.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace runtime {

enum class LogLevel : std::uint8_t { debug, info, warning, error };
enum class LogFormat : std::uint8_t { text, json };

// A named value beside the message. The views must be valid during the call only.
struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, double> value;
};

struct LogOptions {
  LogLevel level = LogLevel::info;
  LogFormat format = LogFormat::text;
  // Takes each finished line, with its newline; called by one thread at a time. Empty: stderr.
  std::function<void(std::string_view)> write;
};

// Thread-safe. For any bytes, an event stays one line, a JSON line stays valid JSON, and a text
// line has no control characters that a terminal would obey.
class Logger {
 public:
  explicit Logger(LogOptions options);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  void debug(std::string_view message, std::initializer_list<LogField> fields = {});
  void info(std::string_view message, std::initializer_list<LogField> fields = {});
  void warning(std::string_view message, std::initializer_list<LogField> fields = {});
  void error(std::string_view message, std::initializer_list<LogField> fields = {});

 private:
  void log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

  struct Backend;  // keeps spdlog out of this header
  std::unique_ptr<Backend> backend_;
};

}  // namespace runtime
