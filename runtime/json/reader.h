// A parser of strict JSON: returns one complete value, or an error that names the place. Wraps
// simdjson's DOM parser and adds what it does not check: duplicate keys, the exact nesting depth,
// the number of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jail/result.h"

namespace runtime::json {

class Value;
using Array = std::vector<Value>;
// The keys are sorted: readers look fields up by name, so the document's order would be of no use.
using Object = std::map<std::string, Value, std::less<>>;

class Value {
 public:
  using Variant =
      std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object>;
  Value() noexcept;
  Value(Variant v) noexcept;  // NOLINT(runtime/explicit)
  // Defined out of line: when g++ 12 inlines these, it warns of uninitialized members that the
  // variant does not hold.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  const bool* as_bool() const noexcept { return std::get_if<bool>(&v_); }
  const std::int64_t* as_integer() const noexcept { return std::get_if<std::int64_t>(&v_); }
  const double* as_double() const noexcept {
    return std::get_if<double>(&v_);
  }  // had . or e, or > int64
  const std::string* as_string() const noexcept { return std::get_if<std::string>(&v_); }
  const Array* as_array() const noexcept { return std::get_if<Array>(&v_); }
  const Object* as_object() const noexcept { return std::get_if<Object>(&v_); }
  bool is_null() const noexcept { return std::holds_alternative<std::nullptr_t>(v_); }

 private:
  Variant v_;
};

inline constexpr int max_depth = 32;
// A value takes many times the two bytes in which it can be written, so a body full of values is
// refused before memory is spent on it.
inline constexpr std::size_t max_values = 100'000;

// Refuses a byte order mark, as RFC 8259 allows. A number that fits no double is an error. `what`
// names the document in errors: "body", "agent-sandbox.json". Errors: ErrorKind::invalid; `doing`
// reads "body: duplicate key \"code\"". Throws std::runtime_error where there is no simdjson.
jail::Result<Value> parse(std::string_view text, std::string_view what);

}  // namespace runtime::json
