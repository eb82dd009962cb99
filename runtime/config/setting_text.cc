#include "runtime/config/setting_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace runtime {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return result;
}

std::optional<std::vector<std::string>> items(std::string_view text) {
  std::vector<std::string> result;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item.empty()) return std::nullopt;
    result.emplace_back(item);
    if (comma == text.size()) return result;
    text.remove_prefix(comma + 1);
  }
}

bool is_visible_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

bool is_tenant_name(std::string_view text) {
  constexpr std::size_t max_bytes = 64;
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= max_bytes && text.find_first_not_of(letters) == text.npos;
}

bool is_base_url(std::string_view text) {
  return is_visible_ascii(text) && (text.starts_with("http://") || text.starts_with("https://")) &&
         !text.ends_with("//") && text.find_first_of("?#") == text.npos;
}

bool is_database_path(std::string_view text) {
  return text == ":memory:" || (text.starts_with('/') && !text.ends_with('/'));
}

bool read_users(std::string_view text, JailUsers& users) {
  constexpr std::uint32_t min_first = 1000;  // those below are the system's
  JailUsers read{.mode = JailUsers::Mode::range, .first = 0, .count = 0};
  if (text == "auto") {
    read.mode = JailUsers::Mode::automatic;
  } else if (text == "off") {
    read.mode = JailUsers::Mode::off;
  } else {
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, read.first);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ':') return false;
    const auto count = std::from_chars(first.ptr + 1, end, read.count);
    if (count.ec != std::errc() || count.ptr != end) return false;
    const bool is_range =
        read.first >= min_first && read.count > 0 && read.count < ~std::uint32_t{0} - read.first;
    if (!is_range) return false;
  }
  users = read;
  return true;
}

}  // namespace runtime
