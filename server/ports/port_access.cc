#include "server/ports/port_access.h"

#include <algorithm>
#include <functional>

#include "server/api/guard.h"

namespace server {
namespace {

constexpr std::size_t max_cookies_of_ours = 8;

// Returns the value of "name=value"; std::nullopt where it has another name.
std::optional<std::string_view> value_in(std::string_view pair, std::string_view name) {
  if (!pair.starts_with(name)) return std::nullopt;
  pair.remove_prefix(name.size());
  if (pair.empty()) return pair;
  if (!pair.starts_with('=')) return std::nullopt;
  return pair.substr(1);
}

void for_each_part(std::string_view text, char separator,
                   const std::function<void(std::string_view)>& look) {
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    look(part);
  }
}

std::optional<std::string> token_in_query(std::string_view query) {
  std::optional<std::string> found;
  for_each_part(query, '&', [&](std::string_view part) {
    const auto value = value_in(part, access_token_parameter);
    if (value && !found) found = std::string(*value);
  });
  return found;
}

// A path that begins with two slashes would be read as the name of a host.
std::string safe_reference(std::string_view path) {
  return (path.starts_with("//") ? "/." : "") + std::string(path);
}

// Returns whether a page of another site shows the port in a frame.
bool is_framed_elsewhere(const RequestHead& head) {
  const auto into = head.header("Sec-Fetch-Dest").value_or("document");
  return into != "document" && head.header("Sec-Fetch-Site").value_or("") == "cross-site";
}

// In a frame of another site a browser keeps only partitioned cookies.
std::string cookie_scope(const RequestHead& head) {
  if (is_framed_elsewhere(head)) return "SameSite=None; Secure; Partitioned";
  // This is the client's own word, which affects only its own cookie.
  return came_by_tls(head) ? "SameSite=Lax; Secure" : "SameSite=Lax";
}

}  // namespace

std::optional<std::string> token_shown(const RequestHead& head) {
  if (const auto value = head.header(access_token_header)) return std::string(*value);
  return token_in_query(head.query);
}

bool has_token_in_query(const RequestHead& head) {
  return token_in_query(head.query).has_value() && !head.header(access_token_header);
}

std::vector<std::string> tokens_in_cookies(const RequestHead& head) {
  std::vector<std::string> tokens;
  for (const Header& header : head.headers) {
    if (!equal_ignoring_case(header.name, "Cookie")) continue;
    for_each_part(header.value, ';', [&](std::string_view part) {
      const auto value = value_in(trimmed(part), access_token_cookie);
      if (value && tokens.size() < max_cookies_of_ours) tokens.emplace_back(*value);
    });
  }
  return tokens;
}

std::string without_token(std::string_view query) {
  std::string rest;
  for_each_part(query, '&', [&](std::string_view part) {
    if (value_in(part, access_token_parameter)) return;
    rest += (rest.empty() ? "" : "&") + std::string(part);
  });
  return rest;
}

std::string without_our_cookies(std::string_view cookies) {
  std::string rest;
  for_each_part(cookies, ';', [&](std::string_view part) {
    part = trimmed(part);
    if (part.empty() || value_in(part, access_token_cookie)) return;
    rest += (rest.empty() ? "" : "; ") + std::string(part);
  });
  return rest;
}

bool comes_from_own_pages(const RequestHead& head, Ambient ambient) {
  static const std::vector<std::string> no_others;
  if (!is_own_origin(head, no_others)) return false;
  const auto site = head.header("Sec-Fetch-Site");
  if (!site || *site == "same-origin" || *site == "none") return true;
  return ambient == Ambient::cookie && head.method == "GET" &&
         head.header("Sec-Fetch-Mode").value_or("") == "navigate";
}

bool opens_a_page(const RequestHead& head) {
  if (head.method != "GET") return false;
  if (const auto mode = head.header("Sec-Fetch-Mode")) return *mode == "navigate";
  return head.header("Accept").value_or("").find("text/html") != std::string_view::npos;
}

Response to_address_without_token(const RequestHead& head, const PortTarget& target,
                                  std::string_view token) {
  const std::string query = without_token(head.query);
  Response response;
  response.status = 303;
  response.content_type.clear();
  response.headers.push_back(
      {"Location", safe_reference(head.path) + (query.empty() ? "" : "?" + query)});
  response.headers.push_back({"Set-Cookie", std::string(access_token_cookie) + "=" +
                                                std::string(token) + "; Path=" + target.prefix() +
                                                "/; HttpOnly; " + cookie_scope(head)});
  response.headers.push_back({"Referrer-Policy", "no-referrer"});
  return response;
}

}  // namespace server
