#include "runtime/llm/schema.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/json/writer.h"
#include "runtime/llm/wire_json.h"

namespace runtime::llm {
namespace {

constexpr std::size_t max_errors = 5;

std::optional<double> number_of(const json::Value& value) {
  if (const auto* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const auto* number = value.as_double()) return *number;
  return std::nullopt;
}

bool same(const json::Value& a, const json::Value& b) {
  const auto left = number_of(a);
  const auto right = number_of(b);
  if (left && right) return *left == *right;
  return text_of(a) == text_of(b);
}

bool is_of_type(const json::Value& value, std::string_view type) {
  if (type == "object") return value.as_object() != nullptr;
  if (type == "array") return value.as_array() != nullptr;
  if (type == "string") return value.as_string() != nullptr;
  if (type == "boolean") return value.as_bool() != nullptr;
  if (type == "null") return value.is_null();
  const auto number = number_of(value);
  if (type == "number") return number.has_value();
  return type == "integer" && number && std::floor(*number) == *number;
}

std::string_view type_of(const json::Value& value) {
  for (const char* type : {"object", "array", "string", "boolean", "null", "integer"}) {
    if (is_of_type(value, type)) return type;
  }
  return "number";
}

std::string short_text(const json::Value& value) {
  constexpr std::size_t longest = 64;
  std::string text = text_of(value);
  return text.size() <= longest ? text : json::quoted(text, longest);
}

class Check {
 public:
  void value(const json::Value& value, const json::Value& schema, const std::string& place) {
    if (errors_.size() >= max_errors || !check_type(value, schema, place)) return;
    check_listed(value, schema, place);
    check_range(value, schema, place);
    if (const json::Array* array = value.as_array()) check_array(*array, schema, place);
    if (const json::Object* object = value.as_object()) check_object(*object, schema, place);
  }

  const std::vector<std::string>& errors() const { return errors_; }

 private:
  void wrong(const std::string& place, const std::string& what) {
    if (errors_.size() < max_errors) errors_.push_back(place + ": " + what);
  }

  // Takes one type name or a list of them. A value of the wrong type gets no other complaints.
  bool check_type(const json::Value& value, const json::Value& schema, const std::string& place) {
    const json::Value* type = member(schema, "type");
    if (type == nullptr) return true;
    std::string expected;
    const auto fits = [&](const json::Value& name) {
      const std::string* text = name.as_string();
      if (text == nullptr) return false;
      expected += (expected.empty() ? "" : " or ") + *text;
      return is_of_type(value, *text);
    };
    const json::Array* types = type->as_array();
    if (types != nullptr ? std::any_of(types->begin(), types->end(), fits) : fits(*type)) {
      return true;
    }
    wrong(place, "expected " + expected + ", not " + std::string(type_of(value)));
    return false;
  }

  void check_listed(const json::Value& value, const json::Value& schema, const std::string& place) {
    const json::Value* only = member(schema, "const");
    if (only != nullptr && !same(value, *only)) {
      wrong(place, short_text(value) + " is not " + short_text(*only));
    }
    const json::Value* list = member(schema, "enum");
    if (list == nullptr) return;
    std::string allowed;
    for (const json::Value& item : items_of(list)) {
      if (same(value, item)) return;
      allowed += (allowed.empty() ? "" : ", ") + short_text(item);
    }
    wrong(place, short_text(value) + " is none of " + allowed);
  }

  void check_range(const json::Value& value, const json::Value& schema, const std::string& place) {
    const auto number = number_of(value);
    if (!number) return;
    const json::Value* low = member(schema, "minimum");
    const json::Value* high = member(schema, "maximum");
    if (low != nullptr && *number < number_of(*low).value_or(*number)) {
      wrong(place, short_text(value) + " is below " + short_text(*low));
    }
    if (high != nullptr && *number > number_of(*high).value_or(*number)) {
      wrong(place, short_text(value) + " is above " + short_text(*high));
    }
  }

  void check_array(const json::Array& array, const json::Value& schema, const std::string& place) {
    const std::uint64_t least = count_member(&schema, "minItems");
    if (array.size() < least) {
      wrong(place,
            "has " + std::to_string(array.size()) + " items, fewer than " + std::to_string(least));
    }
    if (member(schema, "maxItems") != nullptr && array.size() > count_member(&schema, "maxItems")) {
      wrong(place, "has " + std::to_string(array.size()) + " items, more than " +
                       std::to_string(count_member(&schema, "maxItems")));
    }
    const json::Value* item_schema = member(schema, "items");
    if (item_schema == nullptr) return;
    for (std::size_t i = 0; i < array.size(); ++i) {
      value(array[i], *item_schema, place + "[" + std::to_string(i) + "]");
    }
  }

  void check_object(const json::Object& object, const json::Value& schema,
                    const std::string& place) {
    for (const json::Value& name : items_of(member(schema, "required"))) {
      const std::string* text = name.as_string();
      if (text != nullptr && !object.contains(*text)) {
        wrong(place, json::quoted(*text) + " is missing");
      }
    }
    const json::Value* properties = member(schema, "properties");
    const json::Value* others = member(schema, "additionalProperties");
    for (const auto& [key, inner] : object) {
      const json::Value* inner_schema = member(properties, key);
      if (inner_schema == nullptr) inner_schema = others;
      if (inner_schema == nullptr) continue;
      const bool* open = inner_schema->as_bool();
      if (open == nullptr) {
        value(inner, *inner_schema, place + "." + json::named(key));
      } else if (!*open) {
        wrong(place, "unknown field " + json::quoted(key));
      }
    }
  }

  std::vector<std::string> errors_;
};

}  // namespace

jail::Result<void> check_schema(const json::Value& value, const json::Value& schema,
                                std::string_view what) {
  Check check;
  check.value(value, schema, std::string(what));
  if (check.errors().empty()) return {};
  std::string text;
  for (const std::string& error : check.errors()) text += (text.empty() ? "" : "; ") + error;
  return jail::Error{jail::ErrorKind::invalid, std::move(text), 0, {}};
}

}  // namespace runtime::llm
