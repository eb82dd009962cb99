// The numbers in rules, requests and settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace jail::egress {

// Accepts at most `max_digits` (9 or less) decimal digits, without a leading zero before others.
constexpr std::optional<std::uint32_t> parse_decimal(std::string_view text,
                                                     std::size_t max_digits) {
  if (text.empty() || text.size() > max_digits || (text.size() > 1 && text[0] == '0')) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

}  // namespace jail::egress
