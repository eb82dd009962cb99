#include "runtime/service/field_readers.h"

#include <algorithm>
#include <utility>

#include "runtime/json/base64.h"
#include "runtime/sandbox/language.h"
#include "runtime/service/common_fields.h"

namespace runtime {
namespace {

// Returns the content of one of `files`: a string, or {"base64": "..."}.
std::optional<std::string> content_of(const json::Value& value) {
  if (value.as_string() != nullptr) return *value.as_string();
  const json::Object* object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("base64")) return std::nullopt;
  const std::string* text = object->begin()->second.as_string();
  return text == nullptr ? std::nullopt : json::decode_base64(*text);
}

}  // namespace

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

std::vector<std::string> language_words(const RequestRules&) {
  std::vector<std::string> words;
  for (const Language language : all_languages) words.emplace_back(name_of(language));
  return words;
}

std::vector<std::string> encoding_words(const RequestRules&) { return {"utf-8", "base64"}; }

OutputEncoding encoding_of(const std::string& word) {
  return word == "utf-8" ? OutputEncoding::utf8 : OutputEncoding::base64;
}

std::vector<std::string> template_words(const RequestRules& rules) {
  std::vector<std::string> words = {std::string(no_template)};
  for (const Template& one : rules.templates) words.push_back(one.name);
  return words;
}

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

Complaint read_words_into(const Field& field, const json::Value& value, const RequestRules& rules,
                          std::vector<std::string>& words) {
  const json::Array* const list = value.as_array();
  if (list == nullptr || !is_within(field, static_cast<double>(list->size()), rules)) {
    return expectation(field, rules);
  }
  for (const json::Value& item : *list) {
    const std::string* const text = item.as_string();
    if (text == nullptr || has_nul(*text)) return expectation(field, rules);
    words.push_back(*text);
  }
  return std::nullopt;
}

Complaint read_variables_into(const Field& field, const json::Value& value,
                              const RequestRules& rules,
                              std::vector<std::pair<std::string, std::string>>& variables) {
  const json::Object* const map = value.as_object();
  if (map == nullptr || !is_within(field, static_cast<double>(map->size()), rules)) {
    return expectation(field, rules);
  }
  for (const auto& [name, item] : *map) {
    const std::string* text = item.as_string();
    const bool bad_name = name.empty() || has_nul(name) || name.find('=') != name.npos;
    if (bad_name || text == nullptr || has_nul(*text)) return expectation(field, rules);
    variables.emplace_back(name, *text);
  }
  return std::nullopt;
}

Complaint read_network_into(const Field& field, const json::Value& value, const RequestRules& rules,
                            jail::Network& network) {
  if (value.as_string() != nullptr && *value.as_string() == "none") return std::nullopt;
  const json::Object* const object = value.as_object();
  if (object == nullptr || object->size() != 1 || !object->contains("allow")) {
    return expectation(field, rules);
  }
  const json::Array* const list = object->find("allow")->second.as_array();
  if (list == nullptr || list->empty()) return expectation(field, rules);
  if (list->size() > max_destinations) {
    return "allow: expected at most " + std::to_string(max_destinations) + " destinations";
  }
  if (rules.network.empty()) {
    return "this server gives programs no network unless its operator sets "
           "SANDBOX_NETWORK_ENABLED";
  }
  std::vector<std::string> allow;
  for (const json::Value& item : *list) {
    if (item.as_string() == nullptr) return expectation(field, rules);
    if (const Complaint complaint = check_destination(*item.as_string(), rules)) {
      return "allow[" + std::to_string(allow.size()) + "]: " + *complaint;
    }
    allow.push_back(*item.as_string());
  }
  network = jail::Network::allow(std::move(allow));
  return std::nullopt;
}

}  // namespace runtime
