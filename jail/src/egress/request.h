// What a program in a jail asks the proxy for, read as it comes in: SOCKS5 (RFC 1928), HTTP
// CONNECT, or a plain HTTP request with the whole URL in it (RFC 9112).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "egress/destination.h"

namespace jail::egress {

enum class Protocol : std::uint8_t {
  unknown,  // not a byte yet, or none of these
  socks,
  connect,
  http,
};

// Why a request is not served.
enum class Why : std::uint8_t {
  unreadable,
  head_too_large,
  too_slow,
  no_method,        // SOCKS: the client offers none without a name and a password
  other_command,    // SOCKS: BIND, UDP
  other_addresses,  // SOCKS: a type of address that is none
  not_allowed,
  unresolved,
  unreachable,
  refused,  // by the other side
  busy,
};

struct Refusal {
  Why why = Why::unreadable;
  std::string reason;  // for the program and for the log
};

struct Request {
  Destination destination;
  std::string first_bytes;  // what the other side gets before all that is still to come
};

// What a request's head comes to. `asked` is the destination as it was written, for the log, where
// one was seen.
struct Reading {
  enum class State : std::uint8_t { more, complete, refused };
  State state = State::more;
  std::string asked;
  Request request;  // State::complete
  Refusal refusal;  // State::refused
};

inline constexpr std::size_t max_head_bytes = 64 << 10;

// Takes the bytes of one connection in pieces of any size.
class RequestReader {
 public:
  // After complete or refused nothing more is taken.
  const Reading& feed(std::string_view bytes);
  const Reading& reading() const { return reading_; }
  Reading take() { return std::move(reading_); }
  Protocol protocol() const { return protocol_; }
  bool is_empty() const { return bytes_.empty() && protocol_ == Protocol::unknown; }

  // What the client waits for before it goes on; empty mostly.
  std::string take_reply() { return std::exchange(reply_, {}); }

 private:
  void read_http();
  void read_socks();

  Protocol protocol_ = Protocol::unknown;
  bool greeted_ = false;      // SOCKS: the method is agreed on
  std::size_t searched_ = 0;  // HTTP: no end of the head in these
  std::string bytes_;
  std::string reply_;
  Reading reading_;
};

// The whole head, up to and with its empty line. `rest`: what came in behind it.
Reading read_http_head(std::string_view bytes, std::string_view rest);
// Whether it is a CONNECT, as far as one can tell.
Protocol http_protocol(std::string_view head);

// `taken` is set to the bytes that belong to the message, where it is complete.
enum class Greeting : std::uint8_t { more, no_authentication, other_methods, unreadable };
Greeting read_socks_greeting(std::string_view bytes, std::size_t& taken);
Reading read_socks_request(std::string_view bytes, std::size_t& taken);

Reading refused(Why why, std::string reason, std::string asked = {});
// Where HOST:PORT leads, or that it is none.
Reading to_destination(std::string_view host, std::uint16_t port, std::string asked);

}  // namespace jail::egress
