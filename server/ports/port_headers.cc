#include "server/ports/port_headers.h"

#include <algorithm>
#include <array>
#include <span>

#include "server/http/head_check.h"
#include "server/ports/port_access.h"

namespace server {
namespace {

using Names = std::span<const std::string_view>;

// Headers of one connection, not of the messages that it carries (RFC 9110, 7.6.1).
constexpr std::array<std::string_view, 10> of_a_connection = {"Connection",
                                                              "Keep-Alive",
                                                              "Proxy-Connection",
                                                              "Proxy-Authenticate",
                                                              "Proxy-Authorization",
                                                              "TE",
                                                              "Trailer",
                                                              "Transfer-Encoding",
                                                              "Upgrade",
                                                              "Proxy-Authentication-Info"};

// Headers of a request that we set ourselves, that are for us, or that a client could only claim.
constexpr std::array<std::string_view, 11> not_for_guests = {
    "Host",      "Content-Length", "Expect",       "X-API-Key", "X-Access-Token", "Cookie",
    "Forwarded", "X-Real-IP",      "X-Request-Id", "Via",       "True-Client-IP"};

// Headers of an answer, in either form, that other programs on its way to the client would obey,
// that direct a browser elsewhere for this name, or that we set ourselves.
constexpr std::array<std::string_view, 18> not_for_clients = {"Content-Length",
                                                              "X-Request-Id",
                                                              "X-Sendfile",
                                                              "X-Lighttpd-Send-File",
                                                              "X-Reproxy-URL",
                                                              "X-Reproxy-File",
                                                              "Surrogate-Control",
                                                              "CDN-Cache-Control",
                                                              "Set-Cookie2",
                                                              "Clear-Site-Data",
                                                              "Strict-Transport-Security",
                                                              "Public-Key-Pins",
                                                              "Public-Key-Pins-Report-Only",
                                                              "Expect-CT",
                                                              "Alt-Svc",
                                                              "NEL",
                                                              "Report-To",
                                                              "Reporting-Endpoints"};

// Headers of an answer that are removed under our own origin.
constexpr std::array<std::string_view, 17> not_for_our_origin = {
    "Set-Cookie",
    "Service-Worker-Allowed",
    "WWW-Authenticate",
    "Authentication-Info",
    "Timing-Allow-Origin",
    "Accept-CH",
    "Critical-CH",
    "Origin-Agent-Cluster",
    "Cross-Origin-Resource-Policy",
    "Referrer-Policy",
    "Origin-Trial",
    "Use-As-Dictionary",
    "X-Content-Type-Options",
    "Set-Login",
    "Shared-Storage-Write",
    "Attribution-Reporting-Register-Source",
    "Attribution-Reporting-Register-Trigger"};

bool is_one_of(std::string_view name, Names names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return equal_ignoring_case(name, one); });
}

bool has_prefix(std::string_view name, std::string_view prefix) {
  return equal_ignoring_case(name.substr(0, prefix.size()), prefix);
}

// The headers that Connection names belong to the connection, too.
bool is_named_by_connection(std::string_view name, const std::vector<Header>& headers) {
  return std::any_of(headers.begin(), headers.end(), [&](const Header& header) {
    return equal_ignoring_case(header.name, "Connection") && lists(header.value, name);
  });
}

bool is_of_connection(std::string_view name, const std::vector<Header>& headers) {
  return is_one_of(name, of_a_connection) || is_named_by_connection(name, headers);
}

bool goes_in(const Header& header, const RequestHead& head, const PortCall& call) {
  if (is_of_connection(header.name, head.headers)) return false;
  if (is_one_of(header.name, not_for_guests) || has_prefix(header.name, "X-Forwarded-")) {
    return false;
  }
  if (call.key_is_authorization && equal_ignoring_case(header.name, "Authorization")) return false;
  // The address by which a page was opened may contain the token.
  return !(equal_ignoring_case(header.name, "Referer") &&
           header.value.find(access_token_parameter) != std::string::npos);
}

void add(std::string& text, std::string_view name, std::string_view value) {
  text += name;
  text += ": ";
  text += value;
  text += "\r\n";
}

// Servers that check Host expect localhost; those that compare it to Origin expect the name in the
// browser's page.
std::string host_for_guest(const RequestHead& head, const PortCall& call) {
  if (call.target.form == PortForm::path) return "localhost:" + call.target.port;
  return std::string(head.header("Host").value_or(""));
}

void add_cookies(std::string& text, const RequestHead& head) {
  std::string cookies;
  for (const Header& header : head.headers) {
    if (!equal_ignoring_case(header.name, "Cookie")) continue;
    const std::string rest = without_our_cookies(header.value);
    if (!rest.empty()) cookies += (cookies.empty() ? "" : "; ") + rest;
  }
  if (!cookies.empty()) add(text, "Cookie", cookies);
}

void add_where_from(std::string& text, const RequestHead& head, const PortCall& call) {
  const bool is_address =
      !call.peer.empty() && call.peer.find_first_not_of("0123456789abcdef.:") == std::string::npos;
  if (is_address) add(text, "X-Forwarded-For", call.peer);
  if (const auto host = head.header("Host")) add(text, "X-Forwarded-Host", *host);
  add(text, "X-Forwarded-Proto", "http");
  const std::string prefix = call.target.prefix();
  if (!prefix.empty()) add(text, "X-Forwarded-Prefix", prefix);
  add(text, "X-Request-Id", head.request_id);
}

void add_framing(std::string& text, const RequestHead& head, const PortCall& call) {
  if (call.is_upgrade) {
    add(text, "Connection", "Upgrade");
    add(text, "Upgrade", "websocket");
    return;
  }
  const BodyOnItsWay body = body_of(head);
  if (body.kind == BodyOnItsWay::Kind::length) add(text, "Content-Length", body.length);
  if (body.kind == BodyOnItsWay::Kind::chunked) add(text, "Transfer-Encoding", "chunked");
  add(text, "Connection", "close");
}

bool goes_out(const Header& header, const std::vector<Header>& answer, PortForm form) {
  if (is_of_connection(header.name, answer) || is_one_of(header.name, not_for_clients)) {
    return false;
  }
  // Headers that a proxy in front of us obeys, except the wish not to buffer an answer.
  if (has_prefix(header.name, "X-Accel-") && !equal_ignoring_case(header.name, "X-Accel-Buffering"))
    return false;
  if (!is_printable(header.value) || header.name.empty()) return false;
  if (form == PortForm::host) return true;
  return !is_one_of(header.name, not_for_our_origin) && !has_prefix(header.name, "Access-Control-");
}

// Matches a cookie without a name, too, for which a browser would send the value alone.
bool names_our_cookie(std::string_view pair) {
  const auto same = [](char a, char b) { return equal_ignoring_case({&a, 1}, {&b, 1}); };
  return std::search(pair.begin(), pair.end(), access_token_cookie.begin(),
                     access_token_cookie.end(), same) != pair.end();
}

// Restricts a cookie to this host name; returns std::nullopt where it could be taken for one of
// ours.
std::optional<std::string> own_cookie(std::string_view cookie) {
  if (names_our_cookie(cookie.substr(0, cookie.find(';')))) return std::nullopt;
  std::string kept;
  while (!cookie.empty()) {
    const std::string_view part = cookie.substr(0, cookie.find(';'));
    cookie.remove_prefix(std::min(part.size() + 1, cookie.size()));
    if (equal_ignoring_case(trimmed(part.substr(0, part.find('='))), "Domain")) continue;
    kept += (kept.empty() ? "" : "; ") + std::string(trimmed(part));
  }
  return kept;
}

// A server inside does not know the prefix of its paths out here.
std::string location_for_client(std::string_view location, const PortCall& call) {
  for (const std::string_view host : {"localhost:", "127.0.0.1:"}) {
    const std::string own = "http://" + std::string(host) + call.target.port;
    const bool is_own =
        has_prefix(location, own) && (location.size() == own.size() || location[own.size()] == '/');
    if (is_own) location.remove_prefix(own.size());
    if (is_own && location.empty()) location = "/";
  }
  const bool is_absolute_path = location.starts_with('/') && !location.starts_with("//");
  return (is_absolute_path ? call.target.prefix() : std::string()) + std::string(location);
}

// A key or token decides who may see an answer, which caches do not know.
void add_caching(std::vector<Header>& headers, const std::vector<Header>& answer) {
  const bool says = std::any_of(answer.begin(), answer.end(), [](const Header& header) {
    return equal_ignoring_case(header.name, "Cache-Control");
  });
  headers.push_back({"Cache-Control", says ? "private" : "no-store"});
}

}  // namespace

BodyOnItsWay body_of(const RequestHead& head) {
  if (head.header("Transfer-Encoding")) return {.kind = BodyOnItsWay::Kind::chunked};
  if (const auto length = head.header("Content-Length")) {
    return {.kind = BodyOnItsWay::Kind::length, .length = std::string(*length)};
  }
  return {};
}

std::string head_for_guest(const RequestHead& head, const PortCall& call) {
  const std::string query = without_token(head.query);
  std::string text =
      head.method + " " + call.target.path + (query.empty() ? "" : "?" + query) + " HTTP/1.1\r\n";
  add(text, "Host", host_for_guest(head, call));
  for (const Header& header : head.headers) {
    if (goes_in(header, head, call)) add(text, header.name, header.value);
  }
  if (call.target.form == PortForm::host) add_cookies(text, head);
  add_where_from(text, head, call);
  add_framing(text, head, call);
  return text + "\r\n";
}

std::vector<Header> headers_for_client(const std::vector<Header>& answer, const PortCall& call) {
  const PortForm form = call.target.form;
  std::vector<Header> headers;
  for (const Header& header : answer) {
    if (!goes_out(header, answer, form)) continue;
    if (equal_ignoring_case(header.name, "Set-Cookie")) {
      if (auto cookie = own_cookie(header.value)) headers.push_back({header.name, *cookie});
    } else if (form == PortForm::path && equal_ignoring_case(header.name, "Location")) {
      headers.push_back({header.name, location_for_client(header.value, call)});
    } else {
      headers.push_back(header);
    }
  }
  add_caching(headers, answer);
  if (form == PortForm::host) return headers;
  // Applies together with the policy of the server inside, which can forbid more and allow nothing.
  headers.push_back({"Content-Security-Policy", "sandbox allow-scripts allow-forms"});
  headers.push_back({"X-Content-Type-Options", "nosniff"});
  // A page elsewhere can load it only with a token in the address, and the holder of a token may
  // embed it.
  headers.push_back({"Cross-Origin-Resource-Policy", "cross-origin"});
  headers.push_back({"Referrer-Policy", "no-referrer"});
  return headers;
}

bool agrees_to_websocket(int status, const std::vector<Header>& answer) {
  bool upgrades = false;
  bool to_websocket = false;
  bool accepts = false;
  for (const Header& header : answer) {
    upgrades = upgrades ||
               (equal_ignoring_case(header.name, "Connection") && lists(header.value, "upgrade"));
    to_websocket = to_websocket || (equal_ignoring_case(header.name, "Upgrade") &&
                                    equal_ignoring_case(header.value, "websocket"));
    accepts = accepts || equal_ignoring_case(header.name, "Sec-WebSocket-Accept");
  }
  return status == 101 && upgrades && to_websocket && accepts;
}

std::string websocket_head(const std::vector<Header>& answer, std::string_view request_id) {
  std::string text = "HTTP/1.1 101 Switching Protocols\r\n";
  add(text, "Connection", "Upgrade");
  add(text, "Upgrade", "websocket");
  for (const std::string_view name :
       {"Sec-WebSocket-Accept", "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"}) {
    for (const Header& header : answer) {
      if (equal_ignoring_case(header.name, name) && is_printable(header.value)) {
        add(text, name, header.value);
      }
    }
  }
  add(text, "X-Request-Id", request_id);
  return text + "\r\n";
}

}  // namespace server
