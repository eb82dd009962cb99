#include "server/http/message.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "runtime/json/writer.h"

namespace server {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// IMF-fixdate of RFC 9110, whose names are English in every locale.
std::string http_date(std::time_t now) {
  constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  const auto two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  return std::string(days[static_cast<std::size_t>(utc.tm_wday)]) + ", " + two(utc.tm_mday) + ' ' +
         months[static_cast<std::size_t>(utc.tm_mon)] + ' ' + std::to_string(utc.tm_year + 1900) +
         ' ' + two(utc.tm_hour) + ':' + two(utc.tm_min) + ':' + two(utc.tm_sec) + " GMT";
}

// "Bad Request": bad_request
std::string code_of(std::string_view title) {
  std::string code(title);
  for (char& c : code) c = c == ' ' || c == '-' ? '_' : lower(c);
  return code;
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> RequestHead::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

std::string path_of(std::string_view target) {
  if (!target.starts_with('/')) {
    const std::size_t scheme = target.find("://");
    if (scheme == target.npos) return std::string(target);
    target.remove_prefix(scheme + 3);
    target.remove_prefix(std::min(target.find_first_of("/?#"), target.size()));
  }
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  return path.empty() ? "/" : std::string(path);
}

std::string query_of(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = target.find('?');
  return mark == target.npos ? std::string() : std::string(target.substr(mark + 1));
}

std::string_view reason_phrase(int status) noexcept {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 424:
      return "Failed Dependency";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

Response problem(int status, std::string_view detail, std::vector<Header> headers,
                 const ProblemFacts& facts) {
  const std::string_view title = reason_phrase(status);
  runtime::json::Writer writer;
  writer.begin_object().key("type").string("about:blank");
  writer.key("title").string(title).key("status").integer(status);
  writer.key("detail").string(detail);
  writer.key("code").string(facts.code.empty() ? code_of(title) : std::string(facts.code));
  if (facts.limit) writer.key("limit").integer(*facts.limit);
  if (facts.used) writer.key("used").integer(*facts.used);
  if (!facts.remedy.empty()) writer.key("remedy").string(facts.remedy);
  writer.end_object();
  return {.status = status,
          .content_type = "application/problem+json",
          .body = std::move(writer).take(),
          .headers = std::move(headers)};
}

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

Response stopping() {
  return problem(503, "the server is stopping", {{"Retry-After", "5"}}, {.code = "stopping"});
}

std::string render_head(const Response& response, std::string_view request_id,
                        Connection connection, const Framing& framing) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + ' ';
  text += reason_phrase(response.status);
  const auto add = [&text](std::string_view name, std::string_view value) {
    text += "\r\n";
    text += name;
    text += ": ";
    text += value;
  };
  add("Date", http_date(std::time(nullptr)));
  add("Server", "agent-sandbox");
  const bool has_body = response.status != 204 && response.status != 304;
  if (has_body && !response.content_type.empty()) add("Content-Type", response.content_type);
  if (has_body && framing.kind == Framing::Kind::length) {
    add("Content-Length", std::to_string(framing.length));
  } else if (has_body && framing.kind == Framing::Kind::chunked) {
    add("Transfer-Encoding", "chunked");
  }
  add("X-Request-Id", request_id);
  // Results are nobody else's business and no browser's to guess at.
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  add("Connection", connection == Connection::keep_alive ? "keep-alive" : "close");
  for (const Header& header : response.headers) add(header.name, header.value);
  text += "\r\n\r\n";
  return text;
}

}  // namespace server
