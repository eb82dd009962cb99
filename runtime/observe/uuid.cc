#include "runtime/observe/uuid.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace runtime {

// Up to 256 bytes come whole or not at all once the generator is seeded, which it is long before
// any server starts. Where the kernel lacks the generator, no id could be trusted.
std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) std::abort();
  return bytes;
}

std::string random_text() {
  constexpr std::string_view digits = "abcdefghijklmnopqrstuvwxyz234567";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char byte : random_bytes(16)) {
    bits = (bits << 8) | static_cast<unsigned char>(byte);
    for (count += 8; count >= 5; count -= 5) text += digits[(bits >> (count - 5)) & 31];
  }
  text += digits[(bits << (5 - count)) & 31];
  return text;
}

std::string make_uuid() {
  std::array<unsigned char, 16> bytes{};
  const std::string random = random_bytes(bytes.size());
  std::copy(random.begin(), random.end(), bytes.begin());
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

bool is_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

}  // namespace runtime
