// The head of an HTTP request, parsed more strictly than a server has to: the next server parses it
// again, and both must understand the same.
#include <algorithm>
#include <set>
#include <vector>

#include "egress/request.h"

namespace jail::egress {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::uint16_t http_port = 80;

struct Field {
  std::string_view name;
  std::string_view value;  // with the blanks around it
};

struct Head {
  std::string_view method;
  std::string_view target;
  std::string_view version;
  std::vector<Field> fields;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower(c);
  return result;
}

bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           marks.find(c) != marks.npos;
  });
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7f;
}

bool is_visible(char c) { return c > 0x20 && c < 0x7f; }

// Takes the text up to the next CRLF, and removes the CRLF. In a complete head every line has one.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find(line_end);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), line.size() + line_end.size()));
  return line;
}

// Returns an empty string where the line is valid.
std::string_view read_request_line(std::string_view line, Head& head) {
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first == line.npos ? first : first + 1);
  if (second == line.npos) return "its first line is not METHOD TARGET VERSION";
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, second - first - 1);
  head.version = line.substr(second + 1);
  if (!is_token(head.method)) return "its method is no token";
  if (head.target.empty() || !std::all_of(head.target.begin(), head.target.end(), is_visible)) {
    return "its target has characters that must not be there";
  }
  if (head.version != "HTTP/1.1" && head.version != "HTTP/1.0") return "it is no HTTP/1";
  return {};
}

std::string_view read_field(std::string_view line, Head& head) {
  if (line.front() == ' ' || line.front() == '\t') return "it has a folded header line";
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return "it has a header line without a colon";
  head.fields.push_back({line.substr(0, colon), line.substr(colon + 1)});
  if (!is_token(head.fields.back().name)) return "it has a header whose name is no token";
  return {};
}

std::string_view read_head(std::string_view bytes, Head& head) {
  const std::string_view first = take_line(bytes);
  std::string_view wrong = read_request_line(first, head);
  while (wrong.empty()) {
    const std::string_view line = take_line(bytes);
    if (line.empty()) break;
    if (std::any_of(line.begin(), line.end(), is_control)) {
      return "it has a control character in a header line";
    }
    wrong = read_field(line, head);
  }
  return wrong;
}

// The names in the Connection headers, in small letters: headers that are for this hop alone.
std::set<std::string> hop_names(const Head& head) {
  std::set<std::string> names = {"connection", "host", "keep-alive"};
  for (const Field& field : head.fields) {
    if (lower(field.name) != "connection") continue;
    std::string name;
    for (const char c : field.value) {
      if (c == ',') names.insert(std::exchange(name, {}));
      if (c != ',' && c != ' ' && c != '\t') name += lower(c);
    }
    names.insert(name);
  }
  return names;
}

std::string forwarded(const Head& head, const Destination& destination, std::string_view path) {
  std::string text(head.method);
  text.append(" ").append(path).append(" ").append(head.version).append("\r\nHost: ");
  const std::string whole = destination.text();
  text += destination.port == http_port ? whole.substr(0, whole.rfind(':')) : whole;
  text += "\r\nConnection: close\r\n";
  const std::set<std::string> dropped = hop_names(head);
  for (const Field& field : head.fields) {
    const std::string name = lower(field.name);
    if (dropped.contains(name) || name.starts_with("proxy-")) continue;
    text.append(field.name).append(":").append(field.value).append(line_end);
  }
  return text += line_end;
}

// `asked` is the authority as written in the target, with the default port where it has none.
Reading read_authority(std::string_view authority, std::uint16_t port_if_none) {
  std::string asked = printable(authority);
  const auto parts = split_host_and_port(authority);
  if (!parts || (parts->port.empty() && port_if_none == 0)) {
    return refused(Why::unreadable, "its target is not HOST:PORT", std::move(asked));
  }
  if (parts->port.empty()) asked += ":" + std::to_string(port_if_none);
  const auto port = parts->port.empty() ? port_if_none : parse_port(parts->port);
  if (!port) {
    return refused(Why::unreadable, "its port is not a number from 1 to 65535", std::move(asked));
  }
  return to_destination(parts->host, *port, std::move(asked));
}

Reading read_absolute(const Head& head) {
  constexpr std::string_view scheme = "http://";
  if (lower(head.target.substr(0, scheme.size())) != scheme) {
    return refused(Why::unreadable, "its target is not http://HOST/...; for others use CONNECT",
                   printable(head.target));
  }
  const std::string_view rest = head.target.substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, end);
  const std::string_view place = rest.substr(end);
  if (authority.find('@') != authority.npos) {
    // The part before the '@' is a secret of the program and must not be logged.
    return refused(Why::unreadable, "its target has a user name in it",
                   printable(authority.substr(authority.rfind('@') + 1)));
  }
  if (place.find('#') != place.npos) {
    return refused(Why::unreadable, "its target has a fragment", printable(authority));
  }
  Reading reading = read_authority(authority, http_port);
  if (reading.state != Reading::State::complete) return reading;
  std::string path(place);
  if (path.empty() && head.method == "OPTIONS") {
    path = "*";
  } else if (!path.starts_with('/')) {
    path.insert(0, 1, '/');
  }
  reading.request.first_bytes = forwarded(head, reading.request.destination, path);
  return reading;
}

}  // namespace

Protocol http_protocol(std::string_view head) {
  return head.starts_with("CONNECT ") ? Protocol::connect : Protocol::http;
}

Reading read_http_head(std::string_view bytes, std::string_view rest) {
  Head head;
  const std::string_view wrong = read_head(bytes, head);
  if (!wrong.empty()) return refused(Why::unreadable, std::string(wrong), printable(head.target));
  const bool tunnel = head.method == "CONNECT";
  if (tunnel && head.target.find('@') != head.target.npos) {
    return refused(Why::unreadable, "its target has a user name in it",
                   printable(head.target.substr(head.target.rfind('@') + 1)));
  }
  Reading reading = tunnel ? read_authority(head.target, 0) : read_absolute(head);
  if (reading.state == Reading::State::complete) reading.request.first_bytes += rest;
  return reading;
}

}  // namespace jail::egress
