#include "runtime/service/field_readers.h"

#include <algorithm>
#include <utility>

#include "runtime/json/base64.h"

namespace runtime {
namespace {

// The content of one of `files`: a string, or {"base64": "..."}.
std::optional<std::string> content_of(const json::Value& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  const json::Object* object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("base64")) return std::nullopt;
  const std::string* text = object->begin()->second.as_string();
  return text == nullptr ? std::nullopt : json::decode_base64(*text);
}

}  // namespace

std::optional<double> number_of(const json::Value& value) {
  if (const auto* integer = value.as_integer()) return static_cast<double>(*integer);
  if (const auto* number = value.as_double()) return *number;
  return std::nullopt;
}

const std::string* text_of(const Field& field, const json::Value& value,
                           const RequestRules& rules) {
  const std::string* const text = value.as_string();
  if (text == nullptr || !is_within(field, static_cast<double>(text->size()), rules)) {
    return nullptr;
  }
  if (field.words == nullptr) return text;
  const auto words = field.words(rules);
  return std::find(words.begin(), words.end(), *text) == words.end() ? nullptr : text;
}

Complaint read_input_files(const Field& field, const json::Value& value, const RequestRules& rules,
                           std::vector<InputFile>& files) {
  const json::Object* const map = value.as_object();
  if (map == nullptr) return expectation(field, rules);
  for (const auto& [path, item] : *map) {
    auto content = content_of(item);
    if (!content) {
      return json::quoted(path) +
             ": expected a string, or {\"base64\": \"...\"} with padded base64 (RFC 4648)";
    }
    files.push_back({path, std::move(*content)});
  }
  return std::nullopt;
}

}  // namespace runtime
