// A port of this host, as an option names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace server::client {

struct ListenAddress {
  std::string address = "127.0.0.1";  // in digits
  std::uint16_t port = 0;             // 0: any that is free
};

// "[ADDRESS:]PORT", with an address in digits, one of IPv6 in brackets, or localhost; std::nullopt:
// it is none.
std::optional<ListenAddress> listen_address_of(std::string_view text);

}  // namespace server::client
