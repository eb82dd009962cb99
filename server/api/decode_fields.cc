#include "server/api/decode_fields.h"

#include <cmath>

#include "runtime/json/base64.h"

namespace server {
namespace {

using runtime::json::Object;
using runtime::json::Value;

std::string seconds_text(std::chrono::milliseconds duration) {
  runtime::json::Writer writer;
  writer.number(static_cast<double>(duration.count()) / 1000);
  return std::move(writer).take();
}

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const auto* number = value.as_double()) return *number;
  return std::nullopt;
}

// The content of one of `files`: a string, or {"base64": "..."}.
std::optional<std::string> content_of(const Value& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  const Object* object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("base64")) return std::nullopt;
  const std::string* text = object->begin()->second.as_string();
  return text == nullptr ? std::nullopt : runtime::json::decode_base64(*text);
}

}  // namespace

bool is_integer_in(const Value& value, std::int64_t low, std::int64_t high) {
  const auto* integer = value.as_integer();
  return integer != nullptr && *integer >= low && *integer <= high;
}

Complaint read_timeout(const Value& value, const runtime::RequestRules& rules,
                       std::chrono::milliseconds& timeout) {
  const auto seconds = number_of(value);
  const double highest = static_cast<double>(rules.ceilings.timeout.count()) / 1000;
  const double lowest = static_cast<double>(runtime::min_timeout.count()) / 1000;
  if (!seconds || !(*seconds >= lowest && *seconds <= highest)) {
    return "expected a number " + seconds_text(runtime::min_timeout) + " .. " +
           seconds_text(rules.ceilings.timeout);
  }
  timeout = std::chrono::milliseconds(std::llround(*seconds * 1000));
  return std::nullopt;
}

Complaint read_memory(const Value& value, const runtime::RequestRules& rules,
                      std::uint32_t& megabytes) {
  if (!is_integer_in(value, runtime::min_memory_limit_mb, rules.ceilings.memory_limit_mb)) {
    return "expected an integer " + std::to_string(runtime::min_memory_limit_mb) + " .. " +
           std::to_string(rules.ceilings.memory_limit_mb);
  }
  megabytes = static_cast<std::uint32_t>(*value.as_integer());
  return std::nullopt;
}

Complaint read_files(const Value& value, std::vector<runtime::InputFile>& files) {
  const Object* map = value.as_object();
  if (map == nullptr) {
    return "expected a map of relative paths to a string or {\"base64\": \"...\"} each";
  }
  for (const auto& [path, item] : *map) {
    auto content = content_of(item);
    if (!content) {
      return runtime::json::quoted(path) +
             ": expected a string, or {\"base64\": \"...\"} with padded base64 (RFC 4648)";
    }
    files.push_back({path, std::move(*content)});
  }
  return std::nullopt;
}

}  // namespace server
