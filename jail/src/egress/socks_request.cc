// SOCKS5: the messages that RFC 1928 lets a client send.
#include <algorithm>

#include "egress/request.h"

namespace jail::egress {
namespace {

constexpr std::uint8_t version = 5;
constexpr std::uint8_t no_authentication = 0;
constexpr std::uint8_t command_connect = 1;
constexpr std::uint8_t type_v4 = 1;
constexpr std::uint8_t type_name = 3;
constexpr std::uint8_t type_v6 = 4;
constexpr std::size_t before_address = 4;  // version, command, reserved, type
constexpr std::size_t port_bytes = 2;

const std::uint8_t* octets(std::string_view bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

// Returns the host as text. `bytes` must hold all of it.
std::string host_text(std::uint8_t type, std::string_view bytes) {
  if (type == type_v4) return to_text(address_of_v4(octets(bytes)));
  if (type == type_v6) return to_text(address_of_v6(octets(bytes)));
  return std::string(bytes.substr(1));
}

// The size of the address, including the byte that gives its length; 0 where that is still to come.
std::size_t address_bytes(std::uint8_t type, std::string_view rest) {
  if (type == type_v4) return 4;
  if (type == type_v6) return 16;
  return rest.empty() ? 0 : 1 + octets(rest)[0];
}

std::string written(const std::string& host, std::uint16_t port) {
  const bool brackets = host.find(':') != host.npos;
  return printable((brackets ? "[" + host + "]" : host) + ":" + std::to_string(port));
}

}  // namespace

Greeting read_socks_greeting(std::string_view bytes, std::size_t& taken) {
  if (bytes.size() < 2) return Greeting::more;
  const std::size_t methods = octets(bytes)[1];
  if (methods == 0) return Greeting::unreadable;
  if (bytes.size() < 2 + methods) return Greeting::more;
  taken = 2 + methods;
  const std::string_view offered = bytes.substr(2, methods);
  return offered.find(static_cast<char>(no_authentication)) == offered.npos
             ? Greeting::other_methods
             : Greeting::no_authentication;
}

Reading read_socks_request(std::string_view bytes, std::size_t& taken) {
  if (bytes.empty()) return {};
  if (octets(bytes)[0] != version) {
    return refused(Why::unreadable, "its SOCKS5 request has another version");
  }
  if (bytes.size() < before_address) return {};
  const std::uint8_t command = octets(bytes)[1];
  const std::uint8_t type = octets(bytes)[3];
  if (octets(bytes)[2] != 0) return refused(Why::unreadable, "its reserved byte is not 0");
  if (type != type_v4 && type != type_name && type != type_v6) {
    return refused(Why::other_addresses, "its type of address is none of SOCKS5");
  }
  const std::string_view rest = bytes.substr(before_address);
  const std::size_t length = address_bytes(type, rest);
  if (length == 0 || rest.size() < length + port_bytes) return {};
  taken = before_address + length + port_bytes;
  const std::string host = host_text(type, rest.substr(0, length));
  const std::uint8_t* port_at = octets(rest) + length;
  const auto port = static_cast<std::uint16_t>(port_at[0] << 8 | port_at[1]);
  std::string asked = written(host, port);
  if (command != command_connect) {
    return refused(Why::other_command, "of the commands of SOCKS5 only CONNECT is served",
                   std::move(asked));
  }
  if (port == 0) return refused(Why::not_allowed, "there is no port 0", std::move(asked));
  return to_destination(host, port, std::move(asked));
}

}  // namespace jail::egress
