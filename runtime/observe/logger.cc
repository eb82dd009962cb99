#include "runtime/observe/logger.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <mutex>

#include "runtime/json/writer.h"

namespace runtime {
namespace {

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    write_({line.data(), line.size()});
  }
  void flush_() override {}

  std::function<void(std::string_view)> write_;
};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// DEL and the C1 range (C2 80 .. C2 9F) are legal in JSON strings, but terminals obey some of them.
std::string without_c1(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == 0x7F) {
      safe += "\\u007f";
    } else if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) {
      constexpr std::string_view digits = "0123456789abcdef";
      safe += "\\u00";
      safe += digits[next >> 4];
      safe += digits[next & 15];
      ++i;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string json_string(std::string_view text) {
  json::Writer writer;
  writer.string(text);
  return without_c1(std::move(writer).take());
}

std::string text_value(std::string_view value) {
  const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  return plain ? std::string(value) : json_string(value);
}

// The message without quotes, since it is a sentence; quotation marks in it need no escape.
std::string text_message(std::string_view message) {
  const bool plain =
      std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c < 0x7F; });
  if (plain) return std::string(message);
  const std::string quoted = json_string(message);
  return quoted.substr(1, quoted.size() - 2);
}

std::string text_payload(std::string_view message, std::initializer_list<LogField> fields) {
  std::string line = text_message(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      line += text_value(*text);
    } else if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
      line += std::to_string(*integer);
    } else {
      json::Writer number;
      number.number(std::get<double>(field.value));
      line += std::move(number).take();
    }
  }
  return line;
}

// The members of the line's object after "time" and "level", which the pattern writes.
std::string json_payload(std::string_view message, std::initializer_list<LogField> fields) {
  json::Writer writer;
  writer.begin_object().key("message").string(message);
  for (const LogField& field : fields) {
    writer.key(field.name);
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      writer.string(*text);
    } else if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
      writer.integer(*integer);
    } else {
      writer.number(std::get<double>(field.value));
    }
  }
  writer.end_object();
  const std::string object = std::move(writer).take();
  return without_c1(std::string_view(object).substr(1, object.size() - 2));
}

constexpr const char* text_pattern = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr const char* json_pattern = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

}  // namespace

struct Logger::Backend {
  LogFormat format;
  spdlog::logger logger;
};

Logger::Logger(LogOptions options) {
  spdlog::sink_ptr sink;
  if (options.write) {
    sink = std::make_shared<FunctionSink>(std::move(options.write));
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  backend_ = std::unique_ptr<Backend>(
      new Backend{options.format, spdlog::logger("agent-sandbox", std::move(sink))});
  spdlog::logger& logger = backend_->logger;
  logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
      options.format == LogFormat::json ? json_pattern : text_pattern,
      spdlog::pattern_time_type::utc, "\n"));
  logger.set_level(to_spdlog(options.level));
  logger.flush_on(spdlog::level::debug);
  // A log that cannot be written (stderr is a closed pipe) must not end the server.
  logger.set_error_handler([](const std::string&) {});
}

Logger::~Logger() = default;

void Logger::log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const auto spd_level = to_spdlog(level);
  if (!backend_->logger.should_log(spd_level)) return;
  const std::string payload = backend_->format == LogFormat::json ? json_payload(message, fields)
                                                                  : text_payload(message, fields);
  backend_->logger.log(spd_level, spdlog::string_view_t(payload));
}

void Logger::debug(std::string_view message, std::initializer_list<LogField> fields) {
  log(LogLevel::debug, message, fields);
}

void Logger::info(std::string_view message, std::initializer_list<LogField> fields) {
  log(LogLevel::info, message, fields);
}

void Logger::warning(std::string_view message, std::initializer_list<LogField> fields) {
  log(LogLevel::warning, message, fields);
}

void Logger::error(std::string_view message, std::initializer_list<LogField> fields) {
  log(LogLevel::error, message, fields);
}

}  // namespace runtime
