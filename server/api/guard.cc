#include "server/api/guard.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "runtime/config/config.h"

namespace server {
namespace {

bool same_bytes(std::string_view shown, std::string_view key) {
  if (key.empty()) return false;
  // Volatile, so that no compiler ends the loop early once a difference is certain.
  volatile unsigned char difference = shown.size() == key.size() ? 0 : 1;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char other = key[i % key.size()];
    difference = static_cast<unsigned char>(difference | (shown[i] ^ other));
  }
  return difference == 0;
}

std::optional<std::size_t> place_of(std::string_view shown,
                                    const std::vector<runtime::Secret>& keys) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (same_bytes(shown, keys[i].reveal())) found = i;
  }
  return found;
}

bool is_local_name(std::string_view name, const std::vector<std::string>& allowed) {
  if (equal_ignoring_case(name, "localhost") || runtime::is_loopback(name)) return true;
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& one) { return equal_ignoring_case(name, one); });
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The name in "name", "name:port" and "[address]:port"; all of what is none of these.
std::string_view name_of(std::string_view host) {
  if (!host.starts_with('[')) return host.substr(0, host.find(':'));
  const std::size_t end = std::min(host.find(']'), host.size());
  const std::string_view behind = host.substr(std::min(end + 1, host.size()));
  if (!behind.empty() && !behind.starts_with(':')) return host;
  return host.substr(1, end - 1);
}

}  // namespace

std::optional<std::size_t> key_shown(const RequestHead& head,
                                     const std::vector<runtime::Secret>& keys) {
  constexpr std::string_view scheme = "Bearer ";
  std::optional<std::size_t> found;
  if (const auto value = head.header("Authorization");
      value && equal_ignoring_case(value->substr(0, scheme.size()), scheme)) {
    found = place_of(trimmed(value->substr(scheme.size())), keys);
  }
  if (const auto value = head.header("X-API-Key")) {
    const auto other = place_of(*value, keys);
    if (!found) found = other;
  }
  return found;
}

bool has_key(const RequestHead& head, const std::vector<runtime::Secret>& keys) {
  return keys.empty() || key_shown(head, keys).has_value();
}

bool is_local_host(const RequestHead& head, const std::vector<std::string>& allowed) {
  const auto host = head.header("Host");
  if (!host) return true;  // HTTP/1.0, which no browser speaks
  return is_local_name(name_of(*host), allowed);
}

bool is_own_origin(const RequestHead& head, const std::vector<std::string>& allowed) {
  const auto origin = head.header("Origin");
  if (!origin) return true;
  const std::size_t scheme = origin->find("://");
  if (scheme == origin->npos) return false;  // "null": a sandboxed page, a file
  const std::string_view name = name_of(origin->substr(scheme + 3));
  if (name.empty()) return false;
  return is_local_name(name, allowed) ||
         equal_ignoring_case(name, name_of(head.header("Host").value_or("")));
}

bool is_json(const RequestHead& head) {
  const std::string_view value = head.header("Content-Type").value_or("");
  const std::size_t semicolon = std::min(value.find(';'), value.size());
  if (!equal_ignoring_case(trimmed(value.substr(0, semicolon)), "application/json")) return false;
  const std::string_view parameter = trimmed(value.substr(std::min(semicolon + 1, value.size())));
  return parameter.empty() || equal_ignoring_case(parameter, "charset=utf-8") ||
         equal_ignoring_case(parameter, "charset=\"utf-8\"");
}

}  // namespace server
