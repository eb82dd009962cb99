// A field of a request as data, from which come its decoding, the texts of refusals, the command
// line's bounds and its description in OpenAPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/reader.h"
#include "runtime/json/writer.h"
#include "runtime/service/request_rules.h"

namespace runtime {

struct Field {
  enum class Type : std::uint8_t { text, integer, number, boolean, list, map, other };

  std::string_view name;
  Type type = Type::other;
  // The bounds of a number's value, of a text's length in `unit`, or of the number of items. A
  // `max` of 0 means that there is none.
  double min = 0;
  double max = 0;
  std::string_view unit{};
  // What the items of a list or map are, or, for type `other`, what is expected.
  std::string_view expected{};
  // The words that a text is one of, which may depend on the server. Null: any text.
  std::vector<std::string> (*words)(const RequestRules& rules) = nullptr;
  // The operator's value of the maximum and of the default, which replace those here.
  double (*operator_max)(const RequestRules& rules) = nullptr;
  double (*operator_default)(const RequestRules& rules) = nullptr;
  std::string_view default_json{};  // empty: none
  std::string_view description{};
  // The schemas of an object's members, a JSON object. Null: nothing is said of them.
  std::string (*members)(const RequestRules& rules) = nullptr;
  // Further members of the schema in OpenAPI; one without a name is none.
  struct Member {
    std::string_view name;
    std::string_view json;
  };
  Member schema[3]{};
  bool is_required = false;  // of parameters of a query: a request without it is refused
};

double max_of(const Field& field, const RequestRules& rules);

// "1 .. 10", "0.05 .. 60"
std::string range_of(const Field& field, const RequestRules& rules = {});

// What a refusal says is expected: "expected an integer 1 .. 10".
std::string expectation(const Field& field, const RequestRules& rules);

// Whether a number, or a number of bytes, characters or items, is within the bounds.
bool is_within(const Field& field, double number, const RequestRules& rules);

// Writes the field's schema as a member of `properties`.
void write_schema(json::Writer& writer, const Field& field, const RequestRules& rules);

// Its Parameter Object in OpenAPI, of what stands behind the ?.
std::string parameter_object(const Field& field, const RequestRules& rules);

// A field with the function that reads its value into a request. The complaint lacks the name.
template <class Request>
struct RequestField {
  Field field;
  Complaint (*read)(const Field&, const json::Value&, const RequestRules&, Request&);
};

// Both are null where there is no field of that name.
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

// `where_else`: why a name that is none of `fields` is refused where somebody might expect it.
template <class Request>
Complaint read_fields(const json::Object& body, std::span<const RequestField<Request>> fields,
                      const RequestRules& rules, Complaint (*where_else)(std::string_view),
                      Request& request) {
  for (const auto& [name, value] : body) {
    const RequestField<Request>* const row = find_row(fields, name);
    if (row == nullptr) {
      std::string names;
      for (const auto& known : fields) {
        names += (names.empty() ? "" : ", ") + std::string(known.field.name);
      }
      const std::string why = where_else(name).value_or("unknown field");
      return json::quoted(name) + ": " + why + "; known are " + names;
    }
    if (const auto complaint = row->read(row->field, value, rules, request)) {
      return name + ": " + *complaint;
    }
  }
  return std::nullopt;
}

// The object `properties` of the schema in OpenAPI.
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
