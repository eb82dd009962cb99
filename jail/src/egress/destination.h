// Where a program wants to go: a name or an address, and a port.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "egress/address.h"

namespace jail::egress {

struct Destination {
  std::string host;  // a name in small letters without a dot at its end, or to_text(*address)
  std::optional<Address> address = std::nullopt;  // where it is no name
  std::uint16_t port = 0;

  std::string text() const;  // "pypi.org:443", "[2001:db8::1]:443"
};

// The name in small letters, without a dot at its end. Nothing where it is no name of the DNS, and
// nothing where a resolver might take it for a number (127.1, 0x7f000001, 2130706433).
std::optional<std::string> canonical_name(std::string_view name);

// 1 to 65535, without a leading zero.
std::optional<std::uint16_t> parse_port(std::string_view text);

// HOST:PORT in its two parts; the host of [HOST]:PORT, which has a ':' in it, without brackets.
struct HostAndPort {
  std::string_view host;
  std::string_view port;  // empty where there is none, not even a ':'
  bool bracketed = false;
};
std::optional<HostAndPort> split_host_and_port(std::string_view text);

// Nothing where `host` is neither an address nor a name.
std::optional<Destination> destination_of(std::string_view host, std::uint16_t port);

// `text` for logs and answers: printable ASCII, no more than `most` characters.
std::string printable(std::string_view text, std::size_t most = 300);

}  // namespace jail::egress
