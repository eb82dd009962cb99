#include "server/events/utf8_chunks.h"

#include <utility>

namespace server {
namespace {

bool is_in(unsigned char byte, unsigned low, unsigned high) { return byte >= low && byte <= high; }

// The length of the character that begins with `lead`; 0 for a byte that begins none.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (is_in(lead, 0xC2, 0xDF)) return 2;
  if (is_in(lead, 0xE0, 0xEF)) return 3;
  if (is_in(lead, 0xF0, 0xF4)) return 4;
  return 0;
}

// Table 3-7 of the Unicode standard: four lead bytes restrict the second byte.
bool may_follow(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return is_in(second, 0xA0, 0xBF);
    case 0xED:
      return is_in(second, 0x80, 0x9F);
    case 0xF0:
      return is_in(second, 0x90, 0xBF);
    case 0xF4:
      return is_in(second, 0x80, 0x8F);
    default:
      return is_in(second, 0x80, 0xBF);
  }
}

}  // namespace

std::size_t unfinished_bytes(std::string_view bytes) noexcept {
  for (std::size_t count = 1; count <= 3 && count <= bytes.size(); ++count) {
    const std::string_view tail = bytes.substr(bytes.size() - count);
    const auto lead = static_cast<unsigned char>(tail[0]);
    if (is_in(lead, 0x80, 0xBF)) continue;  // the character begins further ahead
    if (length_of(lead) <= count) return 0;
    if (count > 1 && !may_follow(lead, static_cast<unsigned char>(tail[1]))) return 0;
    return count;
  }
  return 0;
}

std::string Utf8Chunks::add(std::string_view bytes) {
  std::string text = std::exchange(held_, {});
  text += bytes;
  const std::size_t held = unfinished_bytes(text);
  held_ = text.substr(text.size() - held);
  text.resize(text.size() - held);
  return text;
}

std::string Utf8Chunks::finish() { return std::exchange(held_, {}); }

}  // namespace server
