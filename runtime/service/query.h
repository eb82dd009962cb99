// The query parameters of a request, which are described by fields, as are the members of a body.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/service/field.h"

namespace runtime {

// The texts by name, without %-encoding.
using QueryTexts = std::map<std::string, std::string, std::less<>>;

// Parses a non-negative integer in decimal digits; returns std::nullopt where `text` is not one.
std::optional<std::uint64_t> digits_of(std::string_view text);

// Parses a time as answers write it ("2026-11-21T20:16:00.123Z"), or in seconds since 1970; returns
// std::nullopt where `text` is neither.
std::optional<std::chrono::system_clock::time_point> time_of(const std::string& text);

// Converts a parameter to the value that a body would have: digits become a number where the field
// is one; "true", "1" and "" become true, "false" and "0" false where it is a boolean. Any other
// text stays a text, which the field may refuse.
json::Value value_of_parameter(const Field& field, const std::string& text);

// The refusal names the parameter.
template <class Request>
std::optional<Refusal> read_parameters(const QueryTexts& texts,
                                       std::span<const RequestField<Request>> fields,
                                       Request& request) {
  json::Object values;
  for (const auto& [name, text] : texts) {
    const Field* const field = find_field(fields, name);
    values.emplace(name, field == nullptr ? json::Value(text) : value_of_parameter(*field, text));
  }
  return read_fields(values, fields, RequestRules(), request);
}

template <class Request>
std::vector<std::string_view> names_of(std::span<const RequestField<Request>> fields) {
  std::vector<std::string_view> names;
  for (const auto& row : fields) names.push_back(row.field.name);
  return names;
}

// The Parameter Objects in OpenAPI, separated by commas.
template <class Request>
std::string parameter_objects(std::span<const RequestField<Request>> fields,
                              const RequestRules& rules) {
  std::string objects;
  for (const auto& row : fields) {
    objects += (objects.empty() ? "" : ",") + parameter_object(row.field, rules);
  }
  return objects;
}

// Fields that several routes share.
constexpr Field limit_field(std::uint32_t max, std::string_view default_json,
                            std::string_view description = "Of a page.") {
  return {.name = "limit",
          .type = Field::Type::integer,
          .min = 1,
          .max = static_cast<double>(max),
          .default_json = default_json,
          .description = description};
}

constexpr Field cursor_field(std::string_view description, std::string_view expected) {
  return {.name = "cursor",
          .type = Field::Type::text,
          .expected = expected,
          .description = description};
}

constexpr Field flag_field(std::string_view name, std::string_view description) {
  return {.name = name,
          .type = Field::Type::boolean,
          .default_json = "false",
          .description = description};
}

}  // namespace runtime
