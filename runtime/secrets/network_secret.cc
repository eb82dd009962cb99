#include "runtime/secrets/network_secret.h"

#include <algorithm>
#include <array>

#include "jail/egress.h"

namespace runtime {
namespace {

char folded(char c) {
  if (c == '_') return '-';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = folded(c);
  return result;
}

}  // namespace

std::optional<std::string> secret_host(std::string_view text) {
  std::string host(text);
  for (char& c : host) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (host.ends_with('.')) host.pop_back();
  // A rule for one host has the form of that host.
  if (host.find_first_of("*/@") != host.npos) return std::nullopt;
  if (!jail::check_egress_rule(host + ":443")) return std::nullopt;
  return host;
}

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           marks.find(c) != marks.npos;
  });
}

bool is_same_header(std::string_view one, std::string_view other) {
  return folded(one) == folded(other);
}

bool is_of_one_hop(std::string_view name) {
  static constexpr std::array<std::string_view, 11> names = {
      "connection", "content-length", "expect",   "host",    "keep-alive",       "http2-settings",
      "te",         "trailer",        "trailers", "upgrade", "transfer-encoding"};
  const std::string plain = folded(name);
  return plain.starts_with("proxy-") || std::find(names.begin(), names.end(), plain) != names.end();
}

bool is_secret_header(std::string_view name) {
  return name.size() <= max_secret_header_bytes && is_token(name) && !is_of_one_hop(name);
}

bool is_secret_value(std::string_view value) {
  const bool is_printable =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return !value.empty() && value.size() <= max_secret_bytes && is_printable &&
         value.front() != ' ' && value.back() != ' ';
}

bool is_named_by(const std::vector<std::string>& rules, const std::string& destination) {
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) {
    return jail::egress_rule_covers(rule, destination);
  });
}

}  // namespace runtime
