// Functions that read the value of a field into a member of a request, within the field's bounds.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "jail/network.h"
#include "runtime/service/field.h"

namespace runtime {

bool has_nul(std::string_view text);
std::optional<double> number_of(const json::Value& value);
// Returns null where the value is not a text within the bounds, or not one of the field's words.
const std::string* text_of(const Field& field, const json::Value& value, const RequestRules& rules);
Complaint read_input_files(const Field& field, const json::Value& value, const RequestRules& rules,
                           std::vector<InputFile>& files);

// Reads strings without NUL, which follow those that are there.
Complaint read_words_into(const Field& field, const json::Value& value, const RequestRules& rules,
                          std::vector<std::string>& words);
Complaint read_variables_into(const Field& field, const json::Value& value,
                              const RequestRules& rules,
                              std::vector<std::pair<std::string, std::string>>& variables);
Complaint read_network_into(const Field& field, const json::Value& value, const RequestRules& rules,
                            jail::Network& network);

template <auto member, class Request>
Complaint read_text(const Field& field, const json::Value& value, const RequestRules& rules,
                    Request& request) {
  const std::string* const text = text_of(field, value, rules);
  if (text == nullptr) return expectation(field, rules);
  request.*member = *text;
  return std::nullopt;
}

// Reads a text that `is_fine` checks in place of the field's bounds.
template <auto member, auto is_fine, class Request>
Complaint read_text_that(const Field& field, const json::Value& value, const RequestRules& rules,
                         Request& request) {
  const std::string* const text = value.as_string();
  if (text == nullptr || !is_fine(*text)) return expectation(field, rules);
  request.*member = *text;
  return std::nullopt;
}

// Reads one of the field's words, which `meaning` converts to the member's value.
template <auto member, auto meaning, class Request>
Complaint read_word(const Field& field, const json::Value& value, const RequestRules& rules,
                    Request& request) {
  const std::string* const word = text_of(field, value, rules);
  if (word == nullptr) return expectation(field, rules);
  request.*member = meaning(*word);
  return std::nullopt;
}

// The same; what is no such word is answered with a hint as well.
template <auto member, auto meaning, auto hint, class Request>
Complaint read_word_with_hint(const Field& field, const json::Value& value,
                              const RequestRules& rules, Request& request) {
  Complaint complaint = read_word<member, meaning>(field, value, rules, request);
  if (complaint) *complaint += hint(rules);
  return complaint;
}

template <class Member>
struct NumberIn {
  using Type = Member;
};
template <class Number>
struct NumberIn<std::optional<Number>> {
  using Type = Number;
};

template <auto member, class Request>
Complaint read_integer(const Field& field, const json::Value& value, const RequestRules& rules,
                       Request& request) {
  const std::int64_t* const number = value.as_integer();
  if (number == nullptr || !is_within(field, static_cast<double>(*number), rules)) {
    return expectation(field, rules);
  }
  using Number = typename NumberIn<std::remove_cvref_t<decltype(request.*member)>>::Type;
  request.*member = static_cast<Number>(*number);
  return std::nullopt;
}

template <auto member, class Request>
Complaint read_seconds(const Field& field, const json::Value& value, const RequestRules& rules,
                       Request& request) {
  const auto seconds = number_of(value);
  if (!seconds || !is_within(field, *seconds, rules)) return expectation(field, rules);
  request.*member = std::chrono::milliseconds(std::llround(*seconds * 1000));
  return std::nullopt;
}

// Reads a boolean that selects one of two values of an enumeration.
template <auto member, auto if_true, auto if_false, class Request>
Complaint read_choice(const Field& field, const json::Value& value, const RequestRules& rules,
                      Request& request) {
  if (value.as_bool() == nullptr) return expectation(field, rules);
  request.*member = *value.as_bool() ? if_true : if_false;
  return std::nullopt;
}

// Reads into a member by one of the functions above.
template <auto read_into, auto member, class Request>
Complaint read_with(const Field& field, const json::Value& value, const RequestRules& rules,
                    Request& request) {
  return read_into(field, value, rules, request.*member);
}

template <auto member, class Request>
Complaint read_flag(const Field& field, const json::Value& value, const RequestRules& rules,
                    Request& request) {
  return read_choice<member, true, false>(field, value, rules, request);
}

}  // namespace runtime
