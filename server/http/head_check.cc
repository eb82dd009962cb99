#include "server/http/head_check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/http/message.h"

namespace server {
namespace {

// Headers that must not repeat: of two, two readers may pick different ones.
constexpr std::array<std::string_view, 12> single = {"Host",
                                                     "Content-Length",
                                                     "Transfer-Encoding",
                                                     "Content-Type",
                                                     "Content-Encoding",
                                                     "X-API-Key",
                                                     "Authorization",
                                                     "Expect",
                                                     "X-Request-Id",
                                                     "Origin",
                                                     "Sec-WebSocket-Key",
                                                     "Sec-WebSocket-Version"};

class Seen {
 public:
  // Returns false where it was seen before.
  bool add(std::size_t index) { return !std::exchange(seen_[index], true); }

  bool has(std::string_view name) const {
    const auto place = std::find(single.begin(), single.end(), name);
    return seen_[static_cast<std::size_t>(place - single.begin())];
  }

 private:
  std::array<bool, single.size()> seen_{};
};

std::optional<std::string> check_value(std::string_view name, std::string_view value) {
  if (equal_ignoring_case(name, "Content-Length")) {
    const bool digits =
        !value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == value.npos;
    if (!digits) return "Content-Length must be one decimal number";
  }
  if (equal_ignoring_case(name, "Transfer-Encoding") && !equal_ignoring_case(value, "chunked")) {
    return "Transfer-Encoding must be chunked and nothing else";
  }
  return std::nullopt;
}

// Returns std::nullopt where `line` is another header.
std::optional<std::string_view> value_of(std::string_view name, std::string_view line) {
  const std::size_t colon = line.find(':');
  if (!equal_ignoring_case(line.substr(0, colon), name)) return std::nullopt;
  return trimmed(line.substr(colon + 1));
}

std::optional<std::string> check_line(std::string_view line, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') return "folded header lines are not accepted";
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return "a header line without a name";
  const std::string_view name = line.substr(0, colon);
  if (name.find_first_of(" \t") != name.npos) return "blanks in a header's name";
  for (std::size_t i = 0; i < single.size(); ++i) {
    if (equal_ignoring_case(name, single[i]) && !seen.add(i)) {
      return "more than one " + std::string(single[i]) + " header";
    }
  }
  return check_value(name, trimmed(line.substr(colon + 1)));
}

// Returns the authority of "GET http://host:1/path HTTP/1.1"; std::nullopt where the target is a
// path or "*".
std::optional<std::string_view> authority_of(std::string_view request_line) {
  const std::size_t scheme = request_line.find("://");
  const std::size_t target = std::min(request_line.find(' '), request_line.size());
  if (scheme == request_line.npos || request_line.substr(target).starts_with(" /")) {
    return std::nullopt;
  }
  const std::string_view rest = request_line.substr(scheme + 3);
  return rest.substr(0, rest.find_first_of("/?# "));
}

std::optional<std::string> check_framing(const Seen& seen, bool http_1_0) {
  if (seen.has("Transfer-Encoding") && seen.has("Content-Length")) {
    return "both Transfer-Encoding and Content-Length";
  }
  if (http_1_0 && seen.has("Transfer-Encoding")) return "Transfer-Encoding in HTTP/1.0";
  if (!http_1_0 && !seen.has("Host")) return "no Host header";
  return std::nullopt;
}

}  // namespace

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte != 0x7F) || c == '\t';
  });
}

bool begins_tls(std::string_view text) { return text.starts_with("\x16\x03"); }

std::optional<std::string> check_head(std::string_view head) {
  Seen seen;
  bool http_1_0 = false;
  std::optional<std::string_view> authority;
  int number = 0;
  for (; !head.empty(); ++number) {
    const std::size_t end = head.find('\n');
    if (end == head.npos || end == 0 || head[end - 1] != '\r')
      return "a line that does not end in CRLF";
    const std::string_view line = head.substr(0, end - 1);
    head.remove_prefix(end + 1);
    if (line.empty()) break;  // the end of the head
    if (!is_printable(line)) return "control characters in the head";
    if (number == 0) {
      http_1_0 = line.ends_with(" HTTP/1.0");
      authority = authority_of(line);
      continue;
    }
    if (number > max_header_lines) return "more than 100 header lines";
    if (auto complaint = check_line(line, seen)) return complaint;
    const auto host = value_of("Host", line);
    if (authority && host && !equal_ignoring_case(*authority, *host)) {
      return "a request target that names another host than Host does";
    }
  }
  return check_framing(seen, http_1_0);
}

}  // namespace server
