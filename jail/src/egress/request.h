// A program's request to the proxy, parsed as it comes in: SOCKS5 (RFC 1928), HTTP CONNECT, or a
// plain HTTP request with the whole URL in it (RFC 9112).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "egress/destination.h"

namespace jail::egress {

enum class Protocol : std::uint8_t {
  unknown,  // no byte yet, or none of these
  socks,
  connect,
  http,
};

// The reason why a request is not served.
enum class Why : std::uint8_t {
  unreadable,
  head_too_large,
  too_slow,
  no_method,        // SOCKS: every method that the client offers requires a name and a password
  other_command,    // SOCKS: BIND, UDP
  other_addresses,  // SOCKS: an unknown type of address
  not_allowed,
  unresolved,
  unreachable,
  refused,  // refused by the other side
  busy,
};

struct Refusal {
  Why why = Why::unreadable;
  std::string reason;  // for the program and for the log
};

struct Request {
  Destination destination;
  std::string first_bytes;  // bytes that the other side gets before all later ones
};

// The outcome of parsing a request's head. `asked` is the destination as it was written, for the
// log, where one was seen.
struct Reading {
  enum class State : std::uint8_t { more, complete, refused };
  State state = State::more;
  std::string asked;
  Request request;  // set with State::complete
  Refusal refusal;  // set with State::refused
};

inline constexpr std::size_t max_head_bytes = 64 << 10;

// Takes the bytes of one connection in pieces of any size.
class RequestReader {
 public:
  // Takes no more bytes after complete or refused.
  const Reading& feed(std::string_view bytes);
  const Reading& reading() const { return reading_; }
  Reading take() { return std::move(reading_); }
  Protocol protocol() const { return protocol_; }
  bool is_empty() const { return bytes_.empty() && protocol_ == Protocol::unknown; }

  // The reply that the client waits for before it goes on; mostly empty.
  std::string take_reply() { return std::exchange(reply_, {}); }

 private:
  void read_http();
  void read_socks();

  Protocol protocol_ = Protocol::unknown;
  bool greeted_ = false;      // SOCKS: the method is agreed on
  std::size_t searched_ = 0;  // HTTP: bytes in which the end of the head was not found
  std::string bytes_;
  std::string reply_;
  Reading reading_;
};

// Parses the whole head, up to and including its empty line. `rest` is what came in behind it.
Reading read_http_head(std::string_view bytes, std::string_view rest);
// Returns whether the request is a CONNECT, as far as the head shows.
Protocol http_protocol(std::string_view head);

// `taken` is set to the number of bytes of the message, where it is complete.
enum class Greeting : std::uint8_t { more, no_authentication, other_methods, unreadable };
Greeting read_socks_greeting(std::string_view bytes, std::size_t& taken);
Reading read_socks_request(std::string_view bytes, std::size_t& taken);

Reading refused(Why why, std::string reason, std::string asked = {});
// Returns the destination of HOST:PORT, or a refusal where it is not valid.
Reading to_destination(std::string_view host, std::uint16_t port, std::string asked);

}  // namespace jail::egress
