#include "server/http/message.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "runtime/json/writer.h"

namespace server {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The IMF-fixdate of RFC 9110, whose names are English in every locale.
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

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool lists(std::string_view value, std::string_view word) noexcept {
  while (!value.empty()) {
    const std::string_view item = value.substr(0, value.find(','));
    value.remove_prefix(std::min(item.size() + 1, value.size()));
    if (equal_ignoring_case(trimmed(item), word)) return true;
  }
  return false;
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
  struct Reason {
    int status;
    std::string_view phrase;
  };
  static constexpr Reason reasons[] = {
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {402, "Payment Required"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {423, "Locked"},
      {424, "Failed Dependency"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  for (const Reason& reason : reasons) {
    if (reason.status == status) return reason.phrase;
  }
  return "Unknown";
}

Response problem(const runtime::Refusal& refusal, std::vector<Header> headers) {
  const int status = kind_of(refusal.code).status;
  const bool has_wait = std::any_of(headers.begin(), headers.end(), [](const Header& header) {
    return header.name == "Retry-After";
  });
  if ((status == 429 || status == 503) && !has_wait) headers.push_back({"Retry-After", "1"});
  runtime::json::Writer writer;
  writer.begin_object().key("type").string("about:blank");
  writer.key("title").string(reason_phrase(status)).key("status").integer(status);
  write_refusal(writer, refusal);
  writer.end_object();
  return {.status = status,
          .content_type = "application/problem+json",
          .body = std::move(writer).take(),
          .headers = std::move(headers)};
}

Response problem(RefusalCode code, std::string detail, std::vector<Header> headers) {
  return problem(runtime::Refusal{.code = code, .detail = std::move(detail)}, std::move(headers));
}

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

Response stopping() {
  return problem(RefusalCode::stopping, "the server is stopping", {{"Retry-After", "5"}});
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
  if (!response.is_relayed) {
    add("Date", http_date(std::time(nullptr)));
    add("Server", "agent-sandbox");
  }
  const bool has_body = response.status != 204 && response.status != 304;
  if (has_body && !response.content_type.empty()) add("Content-Type", response.content_type);
  if (has_body && framing.kind == Framing::Kind::length) {
    add("Content-Length", std::to_string(framing.length));
  } else if (has_body && framing.kind == Framing::Kind::chunked) {
    add("Transfer-Encoding", "chunked");
  }
  add("X-Request-Id", request_id);
  // Results are private, and browsers must not guess their types.
  if (!response.is_relayed) {
    add("Cache-Control", "no-store");
    add("X-Content-Type-Options", "nosniff");
  }
  add("Connection", connection == Connection::keep_alive ? "keep-alive" : "close");
  for (const Header& header : response.headers) add(header.name, header.value);
  text += "\r\n\r\n";
  return text;
}

}  // namespace server
