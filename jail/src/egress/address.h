// Addresses and networks, and the test whether they are part of the public Internet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jail::egress {

enum class Family : std::uint8_t { v4, v6 };

// A plain value. An IPv4-mapped IPv6 address (::ffff:10.0.0.1) is stored as the IPv4 address.
struct Address {
  Family family = Family::v4;
  std::array<std::uint8_t, 16> bytes{};  // the first four are used for IPv4

  friend bool operator==(const Address&, const Address&) = default;
};

// The bytes are in network order.
Address address_of_v4(const std::uint8_t* bytes);
Address address_of_v6(const std::uint8_t* bytes);

// Accepts four decimal numbers, or an IPv6 address without brackets and zone; no other spelling.
std::optional<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

struct Prefix {
  Address address;
  unsigned bits = 0;

  bool contains(const Address& other) const;
  bool contains(const Prefix& other) const;
};

// Accepts an address, or ADDRESS/BITS with no bit set beyond BITS.
std::optional<Prefix> parse_prefix(std::string_view text);

// The purpose of an address that is not public ("loopback"); empty for a public one.
std::string_view special_purpose(const Address& address);
// Returns whether the whole network is reserved for one such purpose.
bool is_special(const Prefix& prefix);

}  // namespace jail::egress
