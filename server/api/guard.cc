#include "server/api/guard.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "runtime/config/config.h"
#include "runtime/json/base64.h"

namespace server {
namespace {

bool is_allowed_name(std::string_view name, const std::vector<std::string>& allowed) {
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& one) { return equal_ignoring_case(name, one); });
}

bool consists_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == text.npos;
}

struct Authority {
  std::string_view name;  // without the brackets of an IPv6 address
  std::string_view port;  // empty: there is none
};

// Accepts "name", "name:port", "[address]" and "[address]:port"; nothing else.
std::optional<Authority> parse_authority(std::string_view text) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::string_view of_an_address = "0123456789abcdefABCDEF:.";
  constexpr std::string_view of_a_name =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  const bool bracketed = text.starts_with('[');
  const std::size_t end = text.find(bracketed ? ']' : ':');
  if (bracketed && end == text.npos) return std::nullopt;
  Authority found{text.substr(0, end), {}};
  if (bracketed) found.name.remove_prefix(1);
  if (!consists_of(found.name, bracketed ? of_an_address : of_a_name)) return std::nullopt;
  std::string_view rest = text.substr(std::min(end, text.size()));
  if (bracketed) rest.remove_prefix(1);
  if (rest.empty()) return found;
  found.port = rest.substr(1);
  if (!rest.starts_with(':') || found.port.size() > 5 || !consists_of(found.port, digits)) {
    return std::nullopt;
  }
  return found;
}

// A browser leaves out the default port of its page's scheme.
std::string_view port_of(const Authority& authority, std::string_view scheme) {
  if (!authority.port.empty()) return authority.port;
  return scheme == "https" ? "443" : "80";
}

}  // namespace

std::optional<std::string_view> bearer_token(const RequestHead& head) {
  constexpr std::string_view scheme = "Bearer ";
  const auto value = head.header("Authorization");
  if (!value || !equal_ignoring_case(value->substr(0, scheme.size()), scheme)) return std::nullopt;
  return trimmed(value->substr(scheme.size()));
}

std::optional<runtime::Principal> principal_shown(const RequestHead& head,
                                                  const runtime::Authentication& authentication) {
  std::optional<runtime::Principal> found;
  if (const auto token = bearer_token(head)) found = authentication.principal_of(*token);
  if (const auto value = head.header("X-API-Key")) {
    auto other = authentication.principal_of(*value);
    if (!found) found = std::move(other);
  }
  return found;
}

bool is_local_host(const RequestHead& head, const std::vector<std::string>& allowed) {
  const auto host = head.header("Host");
  if (!host) return true;  // HTTP/1.0, which no browser uses
  const auto authority = parse_authority(*host);
  if (!authority) return false;
  return equal_ignoring_case(authority->name, "localhost") ||
         runtime::is_loopback(authority->name) || is_allowed_name(authority->name, allowed);
}

bool is_own_origin(const RequestHead& head, const std::vector<std::string>& allowed) {
  const auto origin = head.header("Origin");
  if (!origin) return true;
  const std::size_t colon = origin->find("://");
  if (colon == origin->npos) return false;  // "null": from a sandboxed page or a file
  const std::string_view scheme = origin->substr(0, colon);
  const auto page = parse_authority(origin->substr(colon + 3));
  if ((scheme != "http" && scheme != "https") || !page) return false;
  if (is_allowed_name(page->name, allowed)) return true;
  const auto own = parse_authority(head.header("Host").value_or(""));
  return own && equal_ignoring_case(page->name, own->name) &&
         port_of(*page, scheme) == port_of(*own, scheme);
}

bool asks_for_websocket(const RequestHead& head) {
  return lists(head.header("Connection").value_or(""), "upgrade") &&
         lists(head.header("Upgrade").value_or(""), "websocket");
}

std::optional<Response> check_websocket_key(const RequestHead& head) {
  constexpr std::size_t key_bytes = 16;
  const auto key = runtime::json::decode_base64(head.header("Sec-WebSocket-Key").value_or(""));
  if (key && key->size() == key_bytes) return std::nullopt;
  return problem(RefusalCode::bad_request, "Sec-WebSocket-Key: expected 16 bytes in base64");
}

bool came_by_tls(const RequestHead& head) {
  return equal_ignoring_case(head.header("X-Forwarded-Proto").value_or(""), "https");
}

bool is_json(const RequestHead& head) {
  const std::string_view value = head.header("Content-Type").value_or("");
  const std::size_t semicolon = std::min(value.find(';'), value.size());
  if (!equal_ignoring_case(trimmed(value.substr(0, semicolon)), "application/json")) return false;
  const std::string_view parameter = trimmed(value.substr(std::min(semicolon + 1, value.size())));
  return parameter.empty() || equal_ignoring_case(parameter, "charset=utf-8") ||
         equal_ignoring_case(parameter, "charset=\"utf-8\"");
}

std::optional<Response> why_no_websocket(const RequestHead& head,
                                         const std::vector<std::string>& allowed) {
  if (!is_own_origin(head, allowed)) {
    return problem(RefusalCode::other_site,
                   "Origin: pages of other sites may not use this server; "
                   "API_ALLOWED_HOSTS adds names");
  }
  if (!asks_for_websocket(head)) {
    return problem(RefusalCode::upgrade_required, "this path speaks WebSocket",
                   {{"Upgrade", "websocket"}});
  }
  return check_websocket_key(head);
}

}  // namespace server
