// JSON out: an append-only writer whose result is a valid document whatever bytes it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime::json {

// `bytes` as UTF-8: each maximal subpart of an ill-formed sequence becomes one U+FFFD, the practice
// that Unicode recommends and that Python, Go and browsers follow.
std::string repair_utf8(std::string_view bytes);

bool is_utf8(std::string_view bytes) noexcept;

// The longest beginning of `bytes` that has at most `max_bytes` and cuts no character in two; what
// is no UTF-8 is cut anywhere. It points into `bytes`.
std::string_view utf8_prefix(std::string_view bytes, std::size_t max_bytes) noexcept;

// `text` as a JSON string, cut after `max_bytes` of its own bytes; for naming what somebody sent.
std::string quoted(std::string_view text, std::size_t max_bytes = 64);

// A key as it reads in the name of a place ("body.args[1]"): bare where that is unambiguous, else
// quoted.
std::string named(std::string_view key);

// As Writer::number() writes it: "5", "0.05".
std::string number_text(double number);

// The caller pairs begin and end and gives each member of an object a key; the writer puts the
// commas.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);

  Writer& string(std::string_view bytes);  // repaired as repair_utf8() does
  Writer& base64(std::string_view bytes);  // a string
  Writer& integer(std::int64_t value);
  Writer& number(double value);  // no exponent in 1e-6 .. 1e15; null where not finite
  Writer& boolean(bool value);
  Writer& null();
  Writer& json(std::string_view document);  // one complete value, taken as it is

  std::string take() && { return std::move(text_); }

 private:
  void before_value();
  void quote(std::string_view bytes);

  std::string text_;
  bool comma_ = false;  // a value stands before the next one
};

}  // namespace runtime::json
