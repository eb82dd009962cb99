#include "runtime/service/field.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/config/edit_distance.h"
#include "runtime/service/field_readers.h"

namespace runtime {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string_view json_type(Field::Type type) {
  switch (type) {
    case Field::Type::text:
      return "string";
    case Field::Type::integer:
      return "integer";
    case Field::Type::number:
      return "number";
    case Field::Type::boolean:
      return "boolean";
    case Field::Type::list:
      return "array";
    case Field::Type::map:
      return "object";
    case Field::Type::other:
      break;
  }
  return {};
}

// The names of the bounds in OpenAPI, without "min" and "max".
std::string_view bound_name(Field::Type type) {
  switch (type) {
    case Field::Type::text:
      return "Length";
    case Field::Type::list:
      return "Items";
    case Field::Type::map:
      return "Properties";
    default:
      return "imum";
  }
}

bool is_number(Field::Type type) {
  return type == Field::Type::integer || type == Field::Type::number;
}

// Writes the allowed type of the value and its default.
void write_type(json::Writer& writer, const Field& field, const RequestRules& rules) {
  const bool has_own_type =
      std::any_of(std::begin(field.schema), std::end(field.schema),
                  [](const Field::Member& member) { return member.name == "type"; });
  if (field.type != Field::Type::other && !has_own_type) {
    writer.key("type").string(json_type(field.type));
  }
  const std::string bound(bound_name(field.type));
  if (field.min > 0 || is_number(field.type)) writer.key("min" + bound).number(field.min);
  if (const double max = max_of(field, rules); max > 0) writer.key("max" + bound).number(max);
  const auto words = field.words == nullptr ? std::vector<std::string>() : field.words(rules);
  if (!words.empty()) {
    writer.key("enum").begin_array();
    for (const std::string& word : words) writer.string(word);
    writer.end_array();
  }
  if (field.operator_default != nullptr) {
    writer.key("default").number(field.operator_default(rules));
  } else if (!field.default_json.empty()) {
    writer.key("default").json(field.default_json);
  }
}

// The number to which the field's bounds apply; std::nullopt where the value has another type.
std::optional<double> measure(const Field& field, const json::Value& value) {
  // A field that may be null or a word as well as a number has no type of its own.
  if (is_number(field.type) || field.type == Field::Type::other) return number_of(value);
  if (const auto* text = value.as_string(); text != nullptr && field.type == Field::Type::text) {
    const std::size_t count = field.unit == "characters" ? characters_of(*text) : text->size();
    return static_cast<double>(count);
  }
  if (const auto* list = value.as_array(); list != nullptr && field.type == Field::Type::list) {
    return static_cast<double>(list->size());
  }
  if (const auto* map = value.as_object(); map != nullptr && field.type == Field::Type::map) {
    return static_cast<double>(map->size());
  }
  return std::nullopt;
}

void write_further(json::Writer& writer, const Field& field) {
  for (const Field::Member& member : field.schema) {
    if (!member.name.empty()) writer.key(member.name).json(member.json);
  }
}

}  // namespace

double max_of(const Field& field, const RequestRules& rules) {
  return field.operator_max == nullptr ? field.max : field.operator_max(rules);
}

std::string range_of(const Field& field, const RequestRules& rules) {
  return json::number_text(field.min) + " .. " + json::number_text(max_of(field, rules));
}

std::string expectation(const Field& field, const RequestRules& rules) {
  const double max = max_of(field, rules);
  const std::string unit = field.unit.empty() ? "" : " " + std::string(field.unit);
  const std::string bound = max > 0 ? "of at most " + json::number_text(max) + " " : "of ";
  const std::string expected(field.expected);
  if (field.words != nullptr) {
    return "expected " + (expected.empty() ? "one of " + joined(field.words(rules)) : expected);
  }
  switch (field.type) {
    case Field::Type::text:
      if (!expected.empty()) return "expected " + expected;
      if (max == 0) return "expected a string";
      if (field.min == 0) return "expected a string " + bound + std::string(field.unit);
      return "expected a string of " + range_of(field, rules) + unit;
    case Field::Type::integer:
      if (!expected.empty()) return "expected " + expected;
      return "expected an integer " + range_of(field, rules) + unit;
    case Field::Type::number:
      return "expected a number " + range_of(field, rules) + unit;
    case Field::Type::boolean:
      return "expected true or false";
    case Field::Type::list:
      return "expected a list " + bound + expected;
    case Field::Type::map:
      return "expected a map " + bound + expected;
    case Field::Type::other:
      break;
  }
  return "expected " + expected;
}

bool is_within(const Field& field, double number, const RequestRules& rules) {
  const double max = max_of(field, rules);
  return number >= field.min && (max == 0 || number <= max);
}

Refusal refuse_value(const Field& field, const json::Value& value, const RequestRules& rules,
                     const std::string& complaint) {
  Refusal refusal = refuse_request(std::string(field.name) + ": " + complaint);
  const auto size = field.words == nullptr ? measure(field, value) : std::nullopt;
  if (!size || is_within(field, *size, rules)) return refusal;
  refusal.code = RefusalCode::out_of_range;
  refusal.limit = *size < field.min ? field.min : max_of(field, rules);
  refusal.used = *size;
  return refusal;
}

Refusal refuse_without(const Field& field, const RequestRules& rules) {
  return {.code = RefusalCode::missing_field,
          .detail = std::string(field.name) + ": " + expectation(field, rules)};
}

Refusal refuse_name(std::string_view name, const std::vector<std::string>& known,
                    std::string_view what, const Complaint& why) {
  std::string detail = json::quoted(name) + ": " + why.value_or(std::string(what));
  const auto meant = why ? std::nullopt : nearest_word(name, known);
  if (meant) detail += " (did you mean " + *meant + "?)";
  detail += known.empty() ? "; none is known here" : "; known are " + joined(known);
  return {.code = RefusalCode::unknown_field, .detail = std::move(detail)};
}

void write_schema(json::Writer& writer, const Field& field, const RequestRules& rules) {
  writer.key(field.name).begin_object();
  write_type(writer, field, rules);
  if (!field.description.empty()) writer.key("description").string(field.description);
  if (field.members != nullptr) writer.key("properties").json(field.members(rules));
  write_further(writer, field);
  writer.end_object();
}

std::string parameter_object(const Field& field, const RequestRules& rules) {
  json::Writer writer;
  writer.begin_object().key("name").string(field.name).key("in").string("query");
  writer.key("required").boolean(field.is_required);
  if (!field.description.empty()) writer.key("description").string(field.description);
  writer.key("schema").begin_object();
  write_type(writer, field, rules);
  write_further(writer, field);
  writer.end_object().end_object();
  return std::move(writer).take();
}

}  // namespace runtime
