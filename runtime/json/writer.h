// An append-only JSON writer whose result is a valid document whatever bytes it is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runtime::json {

// Returns `bytes` as UTF-8: each maximal subpart of an ill-formed sequence becomes one U+FFFD, the
// practice that Unicode recommends and that Python, Go and browsers follow.
std::string repair_utf8(std::string_view bytes);

bool is_utf8(std::string_view bytes) noexcept;

// The longest prefix of `bytes` that has at most `max_bytes` and splits no character; bytes that
// are not UTF-8 are cut anywhere. The result is a view into `bytes`.
std::string_view utf8_prefix(std::string_view bytes, std::size_t max_bytes) noexcept;

// `text` as a JSON string, cut after `max_bytes` of its own bytes; for naming a client's input.
std::string quoted(std::string_view text, std::size_t max_bytes = 64);

// A key as it appears in the name of a place ("body.args[1]"): bare where that is unambiguous, else
// quoted.
std::string named(std::string_view key);

// The number as Writer::number() writes it: "5", "0.05".
std::string number_text(double number);

// The caller pairs begin and end calls and gives each member of an object a key; the writer puts
// the commas.
class Writer {
 public:
  Writer& begin_object();
  Writer& end_object();
  Writer& begin_array();
  Writer& end_array();
  Writer& key(std::string_view name);

  Writer& string(std::string_view bytes);  // repaired as repair_utf8() does
  Writer& base64(std::string_view bytes);  // written as a string
  Writer& integer(std::int64_t value);
  Writer& number(double value);  // without an exponent in 1e-6 .. 1e15; null where not finite
  Writer& boolean(bool value);
  Writer& null();
  Writer& json(std::string_view document);  // one complete value, copied unchecked

  std::string take() && { return std::move(text_); }

 private:
  void before_value();
  void quote(std::string_view bytes);

  std::string text_;
  bool comma_ = false;  // a comma is needed before the next value
};

}  // namespace runtime::json
