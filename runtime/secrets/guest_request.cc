#include "runtime/secrets/guest_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "runtime/secrets/network_secret.h"

namespace runtime {
namespace {

constexpr std::string_view line_end = "\r\n";

using Problem = std::optional<GatewayRefusal>;

Problem bad(std::string reason) { return GatewayRefusal{400, std::move(reason)}; }

bool is_visible(char c) { return c > ' ' && c <= '~'; }

// Header values may hold blanks, and bytes beyond ASCII, which mean nothing to a parser.
bool is_of_value(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

// In a complete head every line has an end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(line_end), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + line_end.size()));
  return line;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_served(std::string_view method) {
  static constexpr std::array<std::string_view, 7> methods = {"GET",   "HEAD",   "POST",   "PUT",
                                                              "PATCH", "DELETE", "OPTIONS"};
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

Problem read_target(std::string_view target, GuestRequest& request) {
  if (!target.starts_with('/')) {
    return bad("its target is no path: ask for /HOST/PATH at the gateway's address");
  }
  if (!std::all_of(target.begin(), target.end(), is_visible) ||
      target.find_first_of("#\\\"<>^`{|}") != target.npos) {
    return bad("its target has characters that must not be there");
  }
  target.remove_prefix(1);
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  request.place = target.substr(0, end);
  request.path = target.substr(end);
  if (!request.path.starts_with('/')) request.path.insert(0, 1, '/');
  return std::nullopt;
}

Problem read_first_line(std::string_view line, GuestRequest& request) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? first : line.find(' ', first + 1);
  if (second == line.npos) return bad("its first line is not METHOD TARGET VERSION");
  request.method = line.substr(0, first);
  const std::string_view version = line.substr(second + 1);
  if (!is_token(request.method)) return bad("its method is no token");
  if (version == "HTTP/1.0") return GatewayRefusal{505, "it is HTTP/1.0: HTTP/1.1 is needed"};
  if (version != "HTTP/1.1") return bad("it is no HTTP/1.1");
  if (!is_served(request.method)) {
    return GatewayRefusal{405,
                          "its method is none of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"};
  }
  return read_target(line.substr(first + 1, second - first - 1), request);
}

Problem read_fields(std::string_view lines, HeaderLines& fields) {
  for (;;) {
    const std::string_view line = take_line(lines);
    if (line.empty()) break;
    if (line.front() == ' ' || line.front() == '\t') return bad("it has a folded header line");
    if (!std::all_of(line.begin(), line.end(), is_of_value)) {
      return bad("it has a control character in a header line");
    }
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return bad("it has a header line without a colon");
    if (!is_token(line.substr(0, colon))) return bad("it has a header whose name is no token");
    if (fields.size() == max_guest_headers) return GatewayRefusal{431, "it has too many headers"};
    fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  if (!lines.empty()) return bad("there is more behind its head");
  return std::nullopt;
}

bool is_named(std::string_view one, std::string_view other) { return is_same_header(one, other); }

std::size_t count_of(const HeaderLines& fields, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(),
                    [&](const auto& field) { return is_named(field.first, name); }));
}

Problem read_length(const HeaderLines& fields, GuestRequest& request) {
  if (count_of(fields, "transfer-encoding") > 0) {
    return GatewayRefusal{411, "its body is sent in chunks: a Content-Length is needed"};
  }
  if (count_of(fields, "content-length") > 1) return bad("it has two Content-Length headers");
  for (const auto& [name, value] : fields) {
    if (!is_named(name, "content-length")) continue;
    const char* const end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, request.body_bytes);
    const bool is_number =
        !value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == value.npos;
    if (!is_number || read.ec != std::errc() || read.ptr != end) {
      return bad("its Content-Length is no number");
    }
    // Some readers would take the name with '_' for another header.
    if (name.find('_') != name.npos) return bad("it has a header that looks like Content-Length");
  }
  if (request.body_bytes > max_guest_body_bytes) {
    return GatewayRefusal{
        413, "its body is larger than " + std::to_string(max_guest_body_bytes >> 20) + " MiB"};
  }
  return std::nullopt;
}

// The headers that a Connection header names are for this connection alone.
bool is_named_in_connection(const HeaderLines& fields, std::string_view wanted) {
  for (const auto& [name, value] : fields) {
    if (!is_named(name, "connection")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (is_named(trimmed(rest.substr(0, comma)), wanted)) return true;
      rest.remove_prefix(std::min(rest.size(), comma + 1));
    }
  }
  return false;
}

Problem read_expectation(const HeaderLines& fields, GuestRequest& request) {
  for (const auto& [name, value] : fields) {
    if (!is_named(name, "expect")) continue;
    if (!is_same_header(value, "100-continue")) {
      return GatewayRefusal{417, "it expects what the gateway cannot do"};
    }
    request.awaits_continue = request.body_bytes > 0;
  }
  return std::nullopt;
}

}  // namespace

bool has_bare_line_feed(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != bytes.npos; at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return true;
  }
  return false;
}

std::variant<GuestRequest, GatewayRefusal> read_guest_head(std::string_view head) {
  GuestRequest request;
  if (has_bare_line_feed(head)) return *bad("it has a line that ends with a line feed alone");
  if (auto problem = read_first_line(take_line(head), request)) return std::move(*problem);
  HeaderLines fields;
  if (auto problem = read_fields(head, fields)) return std::move(*problem);
  if (count_of(fields, "host") != 1) return *bad("it has no Host header, or several");
  if (auto problem = read_length(fields, request)) return std::move(*problem);
  if (auto problem = read_expectation(fields, request)) return std::move(*problem);
  for (auto& [name, value] : fields) {
    if (is_of_one_hop(name) || is_named_in_connection(fields, name)) continue;
    request.headers.emplace_back(name, value);
  }
  return request;
}

}  // namespace runtime
