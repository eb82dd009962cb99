// Fields that programs and tasks have in common, and how a table of fields reads a body.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/sandbox/run_request.h"
#include "server/api/decode_execute.h"

namespace server {

using runtime::Complaint;

bool is_integer_in(const runtime::json::Value& value, std::int64_t low, std::int64_t high);
Complaint read_timeout(const runtime::json::Value& value, const runtime::RequestRules& rules,
                       std::chrono::milliseconds& timeout);
Complaint read_memory(const runtime::json::Value& value, const runtime::RequestRules& rules,
                      std::uint32_t& megabytes);
Complaint read_files(const runtime::json::Value& value, std::vector<runtime::InputFile>& files);

template <class Request>
struct Field {
  std::string_view name;
  Complaint (*read)(const runtime::json::Value&, const runtime::RequestRules&, Request&);
};

// "task, max_attempts, tests".
template <class Request>
std::string names_of(std::span<const Field<Request>> fields) {
  std::string names;
  for (const Field<Request>& field : fields) {
    if (!names.empty()) names += ", ";
    names += field.name;
  }
  return names;
}

// `where_else`: why a name that is none of `fields` is refused where somebody might expect it.
template <class Request>
Complaint read_fields(const runtime::json::Object& body, std::span<const Field<Request>> fields,
                      const runtime::RequestRules& rules, Complaint (*where_else)(std::string_view),
                      Request& request) {
  for (const auto& [name, value] : body) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&name = name](const auto& f) { return f.name == name; });
    if (field == fields.end()) {
      const std::string why = where_else(name).value_or("unknown field");
      return runtime::json::quoted(name) + ": " + why + "; known are " + names_of(fields);
    }
    if (const auto complaint = field->read(value, rules, request)) return name + ": " + *complaint;
  }
  return std::nullopt;
}

}  // namespace server
