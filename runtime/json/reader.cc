#include "runtime/json/reader.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/json/writer.h"
#include "runtime/loader/late_library.h"

// The one function of libsimdjson that its headers call. The library comes with the first document.
simdjson::internal::atomic_ptr<const simdjson::implementation>&
simdjson::get_active_implementation() {
  using Chosen = internal::atomic_ptr<const implementation>&();
  static Chosen* const chosen = [] {
    const runtime::LateLibrary library(SIMDJSON_SONAME,
                                       "install simdjson (Debian: " SIMDJSON_PACKAGE ")");
    Chosen* const function = library.function("_ZN8simdjson25get_active_implementationEv");
    return function;
  }();
  return chosen();
}

namespace runtime::json {
namespace {

namespace dom = simdjson::dom;

jail::Error invalid(std::string_view place, std::string_view what) {
  return {jail::ErrorKind::invalid, std::string(place) + ": " + std::string(what), 0, {}};
}

std::string_view syntax_error(simdjson::error_code code) {
  switch (code) {
    case simdjson::EMPTY:
      return "empty, expected one JSON value";
    case simdjson::UTF8_ERROR:
      return "not valid UTF-8";
    case simdjson::STRING_ERROR:
      return "not valid JSON: a string has a bad escape or a lone surrogate";
    case simdjson::UNCLOSED_STRING:
      return "not valid JSON: a string is not closed";
    case simdjson::UNESCAPED_CHARS:
      return "not valid JSON: a string has a control character that is not escaped";
    case simdjson::NUMBER_ERROR:
      return "not valid JSON: a number is malformed";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "not valid JSON: a word other than true, false and null";
    case simdjson::TAPE_ERROR:
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "not valid JSON: a missing or superfluous comma, colon, bracket or value";
    default:
      return "not valid JSON";
  }
}

// Later versions have an error of its own for a whole number of more than 64 bits.
template <typename Code>
bool may_be_of_large_number(Code code) {
  if constexpr (requires { Code::BIGINT_ERROR; }) {
    if (code == Code::BIGINT_ERROR) return true;
  }
  return code == Code::NUMBER_ERROR;
}

// An upper bound of the number of values in `text`: each value except the first comes after one of
// these characters.
std::size_t count_values(std::string_view text) noexcept {
  std::size_t count = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == ',' || c == '[' || c == '{') {
      ++count;
    }
  }
  return count;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front of `text`; returns whether there was one.
bool take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

enum class Number : std::uint8_t { none, integer, other };

// Classifies `token`, as a whole, by the grammar of JSON.
Number number_of(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  const bool has_superfluous_zero = token.size() > 1 && token[0] == '0' && is_digit(token[1]);
  if (has_superfluous_zero || !take_digits(token)) return Number::none;
  if (token.empty()) return Number::integer;
  if (token.starts_with('.')) {
    token.remove_prefix(1);
    if (!take_digits(token)) return Number::none;
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    token.remove_prefix(1);
    if (token.starts_with('+') || token.starts_with('-')) token.remove_prefix(1);
    if (!take_digits(token)) return Number::none;
  }
  return token.empty() ? Number::other : Number::none;
}

// Finds the first place at which a text is not valid JSON, since simdjson does not report it.
class ErrorFinder {
 public:
  explicit ErrorFinder(std::string_view text) : text_(text) {}

  // Returns std::nullopt where the text is one value, as far as this class checks.
  std::optional<std::size_t> find() {
    while (skip_blanks()) {
      if (!take()) return at_;
    }
    return next_ == Next::end ? std::nullopt : std::optional(text_.size());
  }

 private:
  enum class Next : std::uint8_t { value, value_or_close, name, name_or_close, colon, comma, end };

  bool skip_blanks() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size();
  }

  // Takes one token where it is allowed here; otherwise leaves `at_` at the error.
  bool take() {
    const char c = text_[at_];
    if (c == '}' || c == ']') return close(c);
    const bool wants_name = next_ == Next::name || next_ == Next::name_or_close;
    if (wants_name) return c == '"' && take_string() && then(Next::colon);
    if (next_ == Next::colon) return c == ':' && step() && then(Next::value);
    if (next_ == Next::comma) {
      return c == ',' && step() && then(in_object() ? Next::name : Next::value);
    }
    return next_ != Next::end && take_value(c);
  }

  bool take_value(char c) {
    if (c == '{' || c == '[') {
      open_ += c;
      ++at_;
      return then(c == '{' ? Next::name_or_close : Next::value_or_close);
    }
    if (c == '"') return take_string() && end_value();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return end_value();
    }
    const std::size_t end = std::min(text_.find_first_not_of("+-.eE0123456789", at_), text_.size());
    if (number_of(text_.substr(at_, end - at_)) == Number::none) return false;
    at_ = end;
    return end_value();
  }

  bool close(char c) {
    const bool is_next =
        next_ == Next::comma || next_ == (c == '}' ? Next::name_or_close : Next::value_or_close);
    if (!is_next || open_.empty() || in_object() != (c == '}')) return false;
    open_.pop_back();
    ++at_;
    return end_value();
  }

  // The error of a string that is not closed is where it begins, that of an unknown escape at its
  // \.
  bool take_string() {
    for (std::size_t i = at_ + 1; i < text_.size(); ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c == '"') {
        at_ = i + 1;
        return true;
      }
      const bool is_escape = c == '\\';
      const bool is_wrong_escape =
          is_escape && (i + 1 == text_.size() || !std::strchr("\"\\/bfnrtu", text_[i + 1]));
      if (c < 0x20 || is_wrong_escape) {
        at_ = i;
        return false;
      }
      if (is_escape) ++i;
    }
    return false;
  }

  bool step() {
    ++at_;
    return true;
  }

  bool end_value() { return then(open_.empty() ? Next::end : Next::comma); }

  bool then(Next next) {
    next_ = next;
    return true;
  }

  bool in_object() const { return !open_.empty() && open_.back() == '{'; }

  std::string_view text_;
  std::size_t at_ = 0;
  Next next_ = Next::value;
  std::string open_;  // the open brackets
};

// Returns " at line 2, column 7", counted in characters; empty where that cannot be determined.
std::string place_of_error(std::string_view text) {
  const auto at = ErrorFinder(text).find();
  if (!at) return {};
  const std::string_view before = text.substr(0, *at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::string_view in_line = before.substr(before.rfind('\n') + 1);
  const auto column =
      std::count_if(in_line.begin(), in_line.end(),
                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }) +
      1;
  return " at line " + std::to_string(line) + ", column " + std::to_string(column);
}

// simdjson refuses integers of more than 64 bits and what no double can hold, and does not say
// where they stand. JSON allows them, and the reader of the field gives the better error. So this
// returns `text` with doubles in their place, or the largest double where none is large enough.
std::string with_doubles_for_large_numbers(std::string_view text) {
  constexpr std::size_t digits_of_64_bits = 18;
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (in_string || !(is_digit(c) || c == '-')) {
      if (c == '"') in_string = !in_string;
      const std::size_t taken = in_string && c == '\\' ? 2 : 1;
      result += text.substr(i, taken);
      i += taken;
      continue;
    }
    const std::string token(text.substr(i, text.find_first_not_of("+-.eE0123456789", i) - i));
    i += token.size();
    const Number kind = number_of(token);
    if (kind != Number::none && std::isinf(std::strtod(token.c_str(), nullptr))) {
      result += token.starts_with('-') ? "-1e308" : "1e308";
    } else {
      result += token;
      if (kind == Number::integer && token.size() > digits_of_64_bits) result += ".0";
    }
  }
  return result;
}

// Copies a parsed document into values of our own, and checks on the way what simdjson does not
// check.
class Copier {
 public:
  using Failure = std::optional<jail::Error>;

  explicit Copier(std::string_view what) : place_(what) {}

  Failure copy(dom::element element, int depth, Value& to) {
    switch (element.type()) {
      case dom::element_type::ARRAY:
        return copy_array(element.get_array().value_unsafe(), depth + 1, to);
      case dom::element_type::OBJECT:
        return copy_object(element.get_object().value_unsafe(), depth + 1, to);
      case dom::element_type::STRING:
        to = Value(std::string(element.get_string().value_unsafe()));
        break;
      case dom::element_type::INT64:
        to = Value(element.get_int64().value_unsafe());
        break;
      case dom::element_type::UINT64:  // only for values beyond int64
        to = Value(static_cast<double>(element.get_uint64().value_unsafe()));
        break;
      case dom::element_type::DOUBLE:
        to = Value(element.get_double().value_unsafe());
        break;
      case dom::element_type::BOOL:
        to = Value(element.get_bool().value_unsafe());
        break;
      case dom::element_type::NULL_VALUE:
        to = Value();
        break;
    }
    return std::nullopt;
  }

 private:
  Failure copy_array(dom::array array, int depth, Value& to) {
    if (depth > max_depth) return too_deep();
    Array values;
    const std::size_t parent = place_.size();
    for (const dom::element element : array) {
      place_ += '[' + std::to_string(values.size()) + ']';
      if (auto failure = copy(element, depth, values.emplace_back())) return failure;
      place_.resize(parent);
    }
    to = Value(std::move(values));
    return std::nullopt;
  }

  Failure copy_object(dom::object object, int depth, Value& to) {
    if (depth > max_depth) return too_deep();
    Object values;
    const std::size_t parent = place_.size();
    for (const dom::key_value_pair member : object) {
      const auto [slot, inserted] = values.try_emplace(std::string(member.key));
      if (!inserted) return invalid(place_, "duplicate key " + quoted(member.key));
      place_ += '.';
      place_ += named(member.key);
      if (auto failure = copy(member.value, depth, slot->second)) return failure;
      place_.resize(parent);
    }
    to = Value(std::move(values));
    return std::nullopt;
  }

  jail::Error too_deep() const {
    return invalid(place_, "nested deeper than " + std::to_string(max_depth) + " levels");
  }

  std::string place_;
};

}  // namespace

Value::Value() noexcept = default;
Value::Value(Variant v) noexcept : v_(std::move(v)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

jail::Result<Value> parse(std::string_view text, std::string_view what) {
  if (text.starts_with("\xEF\xBB\xBF")) return invalid(what, "starts with a byte order mark");
  if (count_values(text) > max_values) {
    return invalid(what, "more than " + std::to_string(max_values) + " values");
  }
  // Asked here, since the parser's functions are noexcept: where the library is missing, that is
  // thrown.
  static_cast<void>(simdjson::get_active_implementation());
  dom::parser parser;
  // simdjson counts the document itself as a level; the copier enforces the exact bound.
  if (const auto error = parser.allocate(text.size() + 1, max_depth + 2); error) {
    return jail::Error{
        jail::ErrorKind::exhausted, std::string(what) + ": no memory to read it", 0, {}};
  }
  simdjson::padded_string padded(text);
  dom::element root;
  auto error = parser.parse(padded).get(root);
  if (may_be_of_large_number(error)) {
    padded = simdjson::padded_string(with_doubles_for_large_numbers(text));
    error = parser.parse(padded).get(root);
  }
  if (error) {
    if (error == simdjson::DEPTH_ERROR) {
      return invalid(what, "nested deeper than " + std::to_string(max_depth) + " levels");
    }
    const bool has_place = error != simdjson::EMPTY && error != simdjson::UTF8_ERROR;
    return invalid(what,
                   std::string(syntax_error(error)) + (has_place ? place_of_error(text) : ""));
  }
  Value value;
  if (auto failure = Copier(what).copy(root, 0, value)) return std::move(*failure);
  return value;
}

}  // namespace runtime::json
