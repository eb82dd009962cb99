// A field of a request as data. Its decoding, the texts of refusals, the bounds of the command line
// and its description in OpenAPI are derived from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/refusals/refusal.h"
#include "runtime/service/request_rules.h"

namespace runtime {

struct Field {
  enum class Type : std::uint8_t { text, integer, number, boolean, list, map, other };

  std::string_view name;
  Type type = Type::other;
  // The bounds of a number, of the length of a text in `unit`, or of the number of items. A `max`
  // of 0 means that there is no bound.
  double min = 0;
  double max = 0;
  std::string_view unit{};
  // The type of a list's or map's items, or, for type `other`, the expected value.
  std::string_view expected{};
  // The words that the text may be, which may depend on the server. Null: any text.
  std::vector<std::string> (*words)(const RequestRules& rules) = nullptr;
  // The operator's maximum and default, which replace those here.
  double (*operator_max)(const RequestRules& rules) = nullptr;
  double (*operator_default)(const RequestRules& rules) = nullptr;
  std::string_view default_json{};  // empty: none
  std::string_view description{};
  // The schemas of an object's members, a JSON object. Null: they are not described.
  std::string (*members)(const RequestRules& rules) = nullptr;
  // Further members of the schema in OpenAPI, or its `type`, which replaces that of the field; an
  // entry without a name is unused.
  struct Member {
    std::string_view name;
    std::string_view json;
  };
  Member schema[3]{};
  bool is_required = false;  // a request without the field is refused
};

constexpr Field required(Field field) {
  field.is_required = true;
  return field;
}

double max_of(const Field& field, const RequestRules& rules);

// Returns a range such as "1 .. 10" or "0.05 .. 60".
std::string range_of(const Field& field, const RequestRules& rules = {});

// The expectation in a refusal: "expected an integer 1 .. 10".
std::string expectation(const Field& field, const RequestRules& rules);

// Returns whether a number, or a number of bytes, characters or items, is within the bounds.
bool is_within(const Field& field, double number, const RequestRules& rules);

// The refusal of `value`, which a reader has rejected: out_of_range where it is beyond a bound. The
// detail begins with the field's name.
Refusal refuse_value(const Field& field, const json::Value& value, const RequestRules& rules,
                     const std::string& complaint);
Refusal refuse_without(const Field& field, const RequestRules& rules);

// The refusal of `name`, which is not in `known`; suggests the nearest known name. `why` explains
// where somebody might expect the name to work. `what` is a text such as "unknown field".
Refusal refuse_name(std::string_view name, const std::vector<std::string>& known,
                    std::string_view what, const Complaint& why = std::nullopt);

// Writes the field's schema as a member of `properties`.
void write_schema(json::Writer& writer, const Field& field, const RequestRules& rules);

// The Parameter Object of OpenAPI for a query parameter.
std::string parameter_object(const Field& field, const RequestRules& rules);

// A field and the function that reads its value into a request. The complaint does not begin with
// the name.
template <class Request>
struct RequestField {
  Field field;
  Complaint (*read)(const Field&, const json::Value&, const RequestRules&, Request&);
  // Used in place of `read` where the value has fields of its own, which it reads.
  std::optional<Refusal> (*read_members)(const json::Object&, const RequestRules&,
                                         Request&) = nullptr;
};

// Both return null where there is no field of that name.
template <class Request>
const RequestField<Request>* find_row(std::span<const RequestField<Request>> fields,
                                      std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& row) { return row.field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

template <class Request>
const Field* find_field(std::span<const RequestField<Request>> fields, std::string_view name) {
  const RequestField<Request>* const row = find_row(fields, name);
  return row == nullptr ? nullptr : &row->field;
}

template <class Request>
std::vector<std::string> names_in(std::span<const RequestField<Request>> fields) {
  std::vector<std::string> names;
  for (const auto& row : fields) names.emplace_back(row.field.name);
  return names;
}

template <class Request>
std::vector<std::string> required_names(std::span<const RequestField<Request>> fields) {
  std::vector<std::string> names;
  for (const auto& row : fields) {
    if (row.field.is_required) names.emplace_back(row.field.name);
  }
  return names;
}

template <class Request>
std::optional<Refusal> read_field(const RequestField<Request>& row, const json::Value& value,
                                  const RequestRules& rules, Request& request) {
  const json::Object* const members = row.read_members == nullptr ? nullptr : value.as_object();
  if (members != nullptr) {
    auto refusal = row.read_members(*members, rules, request);
    if (refusal) refusal->detail = std::string(row.field.name) + ": " + refusal->detail;
    return refusal;
  }
  const auto complaint = row.read_members != nullptr ? Complaint(expectation(row.field, rules))
                                                     : row.read(row.field, value, rules, request);
  if (!complaint) return std::nullopt;
  return refuse_value(row.field, value, rules, *complaint);
}

inline Complaint nowhere_else(std::string_view) { return std::nullopt; }

// `where_else` explains the refusal of a name that is not in `fields` where somebody might expect
// it to work.
template <class Request>
std::optional<Refusal> read_fields(const json::Object& body,
                                   std::span<const RequestField<Request>> fields,
                                   const RequestRules& rules, Request& request,
                                   Complaint (*where_else)(std::string_view) = nowhere_else) {
  for (const auto& [name, value] : body) {
    const RequestField<Request>* const row = find_row(fields, name);
    if (row == nullptr) {
      return refuse_name(name, names_in(fields), "unknown field", where_else(name));
    }
    if (auto refusal = read_field(*row, value, rules, request)) return refusal;
  }
  for (const auto& row : fields) {
    if (!row.field.is_required || body.contains(row.field.name)) continue;
    return refuse_without(row.field, rules);
  }
  return std::nullopt;
}

// The `properties` object of the schema in OpenAPI.
template <class Request>
std::string properties_of(std::span<const RequestField<Request>> fields,
                          const RequestRules& rules) {
  json::Writer writer;
  writer.begin_object();
  for (const auto& row : fields) write_schema(writer, row.field, rules);
  writer.end_object();
  return std::move(writer).take();
}

}  // namespace runtime
