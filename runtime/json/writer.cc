#include "runtime/json/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "runtime/json/base64.h"

namespace runtime::json {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

struct Sequence {
  std::size_t length;  // bytes of the character, or of the maximal subpart that is replaced
  bool valid;
};

// Parses the well-formed sequences of the Unicode standard, table 3-7: only the second byte's range
// depends on the first.
Sequence next_sequence(std::string_view bytes) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;  // excludes surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

// The escape of a byte that may not appear unescaped in a JSON string; empty for all others. DEL
// and the C1 range are legal and left alone.
std::string_view escape(char c, std::array<char, 6>& room) noexcept {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) return {};
  constexpr std::string_view digits = "0123456789abcdef";
  room = {'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15]};
  return {room.data(), room.size()};
}

// Runs that need no change are appended in one piece: program output consists mostly of such runs.
template <class Escape>
void append_repaired(std::string& to, std::string_view bytes, Escape escape_of) {
  std::size_t start = 0;
  std::size_t i = 0;
  const auto flush = [&] { to.append(bytes, start, i - start); };
  while (i < bytes.size()) {
    if (const std::string_view escaped = escape_of(bytes[i]); !escaped.empty()) {
      flush();
      to += escaped;
      start = ++i;
      continue;
    }
    const Sequence next = next_sequence(bytes.substr(i));
    if (next.valid) {
      i += next.length;
      continue;
    }
    flush();
    to += replacement;
    start = i += next.length;
  }
  flush();
}

}  // namespace

std::string repair_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  append_repaired(text, bytes, [](char) { return std::string_view(); });
  return text;
}

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const Sequence next = next_sequence(bytes);
    if (!next.valid) return false;
    bytes.remove_prefix(next.length);
  }
  return true;
}

std::string_view utf8_prefix(std::string_view bytes, std::size_t max_bytes) noexcept {
  if (bytes.size() <= max_bytes) return bytes;
  // No character has more than three bytes before its last one.
  for (std::size_t before = 1; before <= 3 && before <= max_bytes; ++before) {
    const Sequence last = next_sequence(bytes.substr(max_bytes - before));
    if (last.valid && last.length > before) return bytes.substr(0, max_bytes - before);
  }
  return bytes.substr(0, max_bytes);
}

std::string quoted(std::string_view text, std::size_t max_bytes) {
  Writer writer;
  if (text.size() <= max_bytes) {
    writer.string(text);
  } else {
    writer.string(std::string(utf8_prefix(text, max_bytes)) + "...");
  }
  return std::move(writer).take();
}

std::string named(std::string_view key) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const bool bare = !key.empty() && key.size() <= 64 && key.find_first_not_of(plain) == key.npos;
  return bare ? std::string(key) : quoted(key);
}

void Writer::before_value() {
  if (comma_) text_ += ',';
  comma_ = true;
}

void Writer::quote(std::string_view bytes) {
  std::array<char, 6> room{};
  text_.reserve(text_.size() + bytes.size() + 2);
  text_ += '"';
  append_repaired(text_, bytes, [&room](char c) { return escape(c, room); });
  text_ += '"';
}

std::string number_text(double number) {
  Writer writer;
  writer.number(number);
  return std::move(writer).take();
}

Writer& Writer::begin_object() {
  before_value();
  text_ += '{';
  comma_ = false;
  return *this;
}

Writer& Writer::end_object() {
  text_ += '}';
  comma_ = true;
  return *this;
}

Writer& Writer::begin_array() {
  before_value();
  text_ += '[';
  comma_ = false;
  return *this;
}

Writer& Writer::end_array() {
  text_ += ']';
  comma_ = true;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  before_value();
  quote(name);
  text_ += ':';
  comma_ = false;
  return *this;
}

Writer& Writer::string(std::string_view bytes) {
  before_value();
  quote(bytes);
  return *this;
}

Writer& Writer::base64(std::string_view bytes) {
  before_value();
  text_ += '"';
  text_ += json::base64(bytes);
  text_ += '"';
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  before_value();
  text_ += std::to_string(value);
  return *this;
}

Writer& Writer::number(double value) {
  if (!std::isfinite(value)) return null();
  before_value();
  // Beyond this range the digits alone would fill a line, and readers take a long run of digits for
  // an integer that is too large.
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  std::array<char, 32> room;
  const auto written =
      std::to_chars(room.data(), room.data() + room.size(), value,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  text_.append(room.data(), written.ptr);
  return *this;
}

Writer& Writer::boolean(bool value) {
  before_value();
  text_ += value ? "true" : "false";
  return *this;
}

Writer& Writer::null() {
  before_value();
  text_ += "null";
  return *this;
}

Writer& Writer::json(std::string_view document) {
  before_value();
  text_ += document;
  return *this;
}

}  // namespace runtime::json
