#include "server/cli/sandbox/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <charconv>

namespace server::client {

std::optional<ListenAddress> listen_address_of(std::string_view text) {
  ListenAddress listen;
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == text.npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), listen.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  if (colon == text.npos) return listen;
  std::string_view address = text.substr(0, colon);
  const bool is_in_brackets = address.starts_with('[') && address.ends_with(']');
  if (is_in_brackets) address = address.substr(1, address.size() - 2);
  listen.address = address == "localhost" ? "127.0.0.1" : std::string(address);
  std::array<unsigned char, sizeof(in6_addr)> binary;
  const int family = is_in_brackets ? AF_INET6 : AF_INET;
  if (::inet_pton(family, listen.address.c_str(), binary.data()) != 1) return std::nullopt;
  return listen;
}

}  // namespace server::client
