// The destination that a program asks for: a name or an address, and a port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/address.h"

namespace jail::egress {

struct Destination {
  std::string host;  // a name in small letters without a dot at its end, or to_text(*address)
  std::optional<Address> address = std::nullopt;  // set where the host is not a name
  std::uint16_t port = 0;

  std::string text() const;  // "pypi.org:443", "[2001:db8::1]:443"
};

// Returns the name in small letters, without a dot at its end. Returns std::nullopt where it is not
// a DNS name, and where a resolver might take it for a number (127.1, 0x7f000001, 2130706433).
std::optional<std::string> canonical_name(std::string_view name);

// Accepts 1 to 65535, without a leading zero.
std::optional<std::uint16_t> parse_port(std::string_view text);

// HOST:PORT split in two; a host in brackets, [HOST]:PORT, which contains a ':', is given without
// them.
struct HostAndPort {
  std::string_view host;
  std::string_view port;  // empty where there is no port, not even a ':'
  bool bracketed = false;
};
std::optional<HostAndPort> split_host_and_port(std::string_view text);

// Returns std::nullopt where `host` is neither an address nor a name.
std::optional<Destination> destination_of(std::string_view host, std::uint16_t port);

// Returns `text` for logs and answers: printable ASCII, at most `most` characters.
std::string printable(std::string_view text, std::size_t most = 300);

}  // namespace jail::egress
