#include "egress/answer.h"

#include <string_view>

namespace jail::egress {
namespace {

std::string_view http_status(Why why) {
  switch (why) {
    case Why::head_too_large:
      return "431 Request Header Fields Too Large";
    case Why::too_slow:
      return "408 Request Timeout";
    case Why::not_allowed:
      return "403 Forbidden";
    case Why::unresolved:
    case Why::unreachable:
    case Why::refused:
      return "502 Bad Gateway";
    case Why::busy:
      return "503 Service Unavailable";
    case Why::unreadable:
    case Why::no_method:
    case Why::other_command:
    case Why::other_addresses:
      break;
  }
  return "400 Bad Request";
}

char socks_code(Why why) {
  switch (why) {
    case Why::not_allowed:
      return 2;
    case Why::unresolved:
    case Why::unreachable:
      return 4;
    case Why::refused:
      return 5;
    case Why::other_command:
      return 7;
    case Why::other_addresses:
      return 8;
    case Why::unreadable:
    case Why::head_too_large:
    case Why::too_slow:
    case Why::no_method:
    case Why::busy:
      break;
  }
  return 1;  // general failure
}

// The address field, usually that of our end, is 0.0.0.0:0, since our address is the host's.
std::string socks_reply(char code) { return {5, code, 0, 1, 0, 0, 0, 0, 0, 0}; }

}  // namespace

std::string go_ahead(Protocol protocol) {
  if (protocol == Protocol::socks) return socks_reply(0);
  if (protocol == Protocol::connect) return "HTTP/1.1 200 Connection established\r\n\r\n";
  return {};
}

std::string refusal_text(const Refusal& refusal, const std::string& asked) {
  const std::string egress = "egress to " + asked;
  switch (refusal.why) {
    case Why::not_allowed:
      return egress + " is not allowed: " + refusal.reason;
    case Why::unresolved:
    case Why::unreachable:
    case Why::refused:
      return egress + " failed: " + refusal.reason;
    case Why::busy:
      return (asked.empty() ? "egress" : egress) + " is not possible now: " + refusal.reason;
    default:
      return "the request was not understood: " + refusal.reason;
  }
}

std::string answer(Protocol protocol, const Refusal& refusal, const std::string& asked) {
  if (protocol == Protocol::socks) {
    return refusal.why == Why::no_method ? std::string{5, '\xff'}
                                         : socks_reply(socks_code(refusal.why));
  }
  const std::string body = "agent-sandbox: " + refusal_text(refusal, asked) + "\n";
  std::string text = "HTTP/1.1 ";
  text.append(http_status(refusal.why))
      .append(
          "\r\nContent-Type: text/plain; charset=us-ascii\r\nConnection: close\r\nContent-Length: ")
      .append(std::to_string(body.size()))
      .append("\r\n\r\n")
      .append(body);
  return text;
}

}  // namespace jail::egress
