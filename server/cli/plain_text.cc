#include "server/cli/plain_text.h"

#include <unistd.h>

#include <cstdint>

#include "runtime/json/writer.h"

namespace server {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

// `text` is well-formed and not empty.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {.code = lead, .bytes = 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  std::uint32_t code = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  return {.code = code, .bytes = bytes};
}

// C0 and C1, and what reorders or hides text: with it a line can read as another one than it is.
bool is_unwelcome(std::uint32_t code) {
  if (code < 0x20) return code != '\n' && code != '\t';
  return (code >= 0x7F && code <= 0x9F) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::string plain_text(std::string_view bytes) {
  const std::string whole = runtime::json::repair_utf8(bytes);
  std::string plain;
  plain.reserve(whole.size());
  for (std::string_view rest = whole; !rest.empty();) {
    const Character character = first_of(rest);
    if (!is_unwelcome(character.code)) {
      plain += rest.substr(0, character.bytes);
    } else if (!rest.starts_with("\r\n")) {
      plain += replacement;
    }
    rest.remove_prefix(character.bytes);
  }
  return plain;
}

std::string plain_line(std::string_view bytes, std::size_t max_characters) {
  const std::string plain = plain_text(bytes.substr(0, max_characters * 4 + 4));
  std::string line;
  std::size_t count = 0;
  for (std::string_view rest = plain; !rest.empty(); ++count) {
    const Character character = first_of(rest);
    if (count == max_characters) return line + "…";
    const bool blank = character.code == '\n' || character.code == '\t';
    line += blank ? " " : rest.substr(0, character.bytes);
    rest.remove_prefix(character.bytes);
  }
  return line;
}

std::string plain_json(std::string_view json) {
  constexpr std::string_view digits = "0123456789abcdef";
  const std::string whole = runtime::json::repair_utf8(json);
  std::string plain;
  plain.reserve(whole.size());
  for (std::string_view rest = whole; !rest.empty();) {
    const Character character = first_of(rest);
    // What is below stands between values alone, and is white space there.
    if (character.code < 0x20 || !is_unwelcome(character.code)) {
      plain += rest.substr(0, character.bytes);
    } else {
      plain += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) plain += digits[character.code >> shift & 0xFu];
    }
    rest.remove_prefix(character.bytes);
  }
  return plain;
}

std::string json_for_standard_output(std::string_view json) {
  return ::isatty(STDOUT_FILENO) == 1 ? plain_json(json) : std::string(json);
}

}  // namespace server
