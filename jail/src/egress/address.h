// Addresses, networks, and which of them are no part of the public Internet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace jail::egress {

enum class Family : std::uint8_t { v4, v6 };

// Plain value. An IPv4 address that is written as an IPv6 one (::ffff:10.0.0.1) is that IPv4
// address.
struct Address {
  Family family = Family::v4;
  std::array<std::uint8_t, 16> bytes{};  // of IPv4 the first four

  friend bool operator==(const Address&, const Address&) = default;
};

// In network order.
Address address_of_v4(const std::uint8_t* bytes);
Address address_of_v6(const std::uint8_t* bytes);

// Four decimal numbers, or an IPv6 address without brackets and zone; no other spelling.
std::optional<Address> parse_address(std::string_view text);
std::string to_text(const Address& address);

struct Prefix {
  Address address;
  unsigned bits = 0;

  bool contains(const Address& other) const;
  bool contains(const Prefix& other) const;
};

// An address, or ADDRESS/BITS without a bit set behind BITS.
std::optional<Prefix> parse_prefix(std::string_view text);

// What an address that is no public one is for ("loopback"); empty of a public one.
std::string_view special_purpose(const Address& address);
// Whether the whole network is for one such purpose.
bool is_special(const Prefix& prefix);

}  // namespace jail::egress
