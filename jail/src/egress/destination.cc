#include "egress/destination.h"

#include <algorithm>

#include "egress/decimal.h"

namespace jail::egress {
namespace {

constexpr std::size_t longest_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= longest_label && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), [](char c) {
           return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
         });
}

bool is_number(std::string_view label) {
  return label.starts_with("0x") || std::all_of(label.begin(), label.end(), is_digit);
}

}  // namespace

std::string Destination::text() const {
  const std::string number = std::to_string(port);
  if (address && address->family == Family::v6) return "[" + host + "]:" + number;
  return host + ":" + number;
}

std::optional<std::string> canonical_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > longest_name) return std::nullopt;
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  std::string_view rest = lower;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_label(label)) return std::nullopt;
    if (dot == rest.npos) {
      if (is_number(label)) return std::nullopt;
      return lower;
    }
    rest.remove_prefix(dot + 1);
  }
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto port = parse_decimal(text, 5);
  if (!port || *port == 0 || *port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

std::optional<HostAndPort> split_host_and_port(std::string_view text) {
  HostAndPort parts;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    parts.host = text.substr(1, end - 1);
    if (parts.host.find(':') == text.npos) return std::nullopt;
    parts.bracketed = true;
    rest = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    parts.host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (parts.host.empty()) return std::nullopt;
  if (rest.empty()) return parts;
  parts.port = rest.substr(1);
  const bool separated = rest[0] == ':' && !parts.port.empty();
  if (!separated || parts.port.find(':') != parts.port.npos) return std::nullopt;
  return parts;
}

std::optional<Destination> destination_of(std::string_view host, std::uint16_t port) {
  if (const auto address = parse_address(host))
    return Destination{to_text(*address), address, port};
  auto name = canonical_name(host);
  if (!name) return std::nullopt;
  return Destination{std::move(*name), std::nullopt, port};
}

std::string printable(std::string_view text, std::size_t most) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f;
    if (result.size() + (plain ? 1 : 4) > most) {
      result.resize(std::min(result.size(), most > 3 ? most - 3 : 0));
      return result += "...";
    }
    if (plain) {
      result += c;
    } else {
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result;
}

}  // namespace jail::egress
