#include "egress/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "egress/decimal.h"

namespace jail::egress {
namespace {

struct SpecialRange {
  Family family;
  std::array<std::uint8_t, 8> bytes;  // the remaining bytes are 0
  unsigned bits;
  std::string_view purpose;
};

// IANA's registries of special-purpose addresses (RFC 6890 with its updates) and the multicast
// ranges. Those among them that are reachable from everywhere (AS112, AMT) are services of the
// network, not destinations of programs.
constexpr SpecialRange special_ranges[] = {
    {Family::v4, {0}, 8, "this network"},
    {Family::v4, {10}, 8, "private use"},
    {Family::v4, {100, 64}, 10, "shared by carriers"},
    {Family::v4, {127}, 8, "loopback"},
    {Family::v4, {169, 254}, 16, "link-local"},  // a cloud's metadata service among them
    {Family::v4, {172, 16}, 12, "private use"},
    {Family::v4, {192, 0, 0}, 24, "protocol assignments"},
    {Family::v4, {192, 0, 2}, 24, "documentation"},
    {Family::v4, {192, 31, 196}, 24, "AS112"},
    {Family::v4, {192, 52, 193}, 24, "AMT"},
    {Family::v4, {192, 88, 99}, 24, "6to4 relays"},
    {Family::v4, {192, 168}, 16, "private use"},
    {Family::v4, {192, 175, 48}, 24, "AS112"},
    {Family::v4, {198, 18}, 15, "benchmarking"},
    {Family::v4, {198, 51, 100}, 24, "documentation"},
    {Family::v4, {203, 0, 113}, 24, "documentation"},
    {Family::v4, {224}, 4, "multicast"},
    {Family::v4, {255, 255, 255, 255}, 32, "broadcast"},
    {Family::v4, {240}, 4, "reserved"},
    {Family::v6, {0x20, 0x01, 0, 0}, 32, "Teredo"},
    {Family::v6, {0x20, 0x01, 0}, 23, "protocol assignments"},  // benchmarking, ORCHID, ...
    {Family::v6, {0x20, 0x01, 0x0d, 0xb8}, 32, "documentation"},
    {Family::v6, {0x20, 0x02}, 16, "6to4"},
    {Family::v6, {0x26, 0x20, 0, 0x4f, 0x80, 0}, 48, "AS112"},
    {Family::v6, {0x3f, 0xff, 0}, 20, "documentation"},
    {Family::v6, {0xfc}, 7, "unique local"},
    {Family::v6, {0xfe, 0x80}, 10, "link-local"},
    {Family::v6, {0xff}, 8, "multicast"},
    // Everything that is not 2000::/3: loopback, unspecified, NAT64, discard-only, segment routing,
    // ...
    {Family::v6, {0}, 3, "not global unicast"},
    {Family::v6, {0x40}, 2, "not global unicast"},
    {Family::v6, {0x80}, 1, "not global unicast"},
};

Prefix prefix_of(const SpecialRange& range) {
  Prefix prefix{{range.family, {}}, range.bits};
  std::copy(range.bytes.begin(), range.bytes.end(), prefix.address.bytes.begin());
  return prefix;
}

unsigned width(Family family) { return family == Family::v4 ? 32 : 128; }

bool same_bits(const Address& a, const Address& b, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  if (bits % 8 == 0) return true;
  const unsigned mask = 0xffu << (8 - bits % 8);
  return ((a.bytes[whole] ^ b.bytes[whole]) & mask & 0xffu) == 0;
}

bool has_bits_behind(const Prefix& prefix) {
  for (unsigned bit = prefix.bits; bit < width(prefix.address.family); ++bit) {
    if ((prefix.address.bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return true;
  }
  return false;
}

bool is_mapped(const std::uint8_t* bytes) {
  constexpr std::uint8_t start[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(bytes, start, sizeof start) == 0;
}

}  // namespace

Address address_of_v4(const std::uint8_t* bytes) {
  Address address;
  std::copy_n(bytes, 4, address.bytes.begin());
  return address;
}

Address address_of_v6(const std::uint8_t* bytes) {
  if (is_mapped(bytes)) return address_of_v4(bytes + 12);
  Address address{Family::v6, {}};
  std::copy_n(bytes, 16, address.bytes.begin());
  return address;
}

std::optional<Address> parse_address(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string terminated(text);
  std::uint8_t bytes[16];
  // inet_pton() accepts decimal numbers alone, where inet_aton() also takes 0x7f.1 and
  // 017700000001.
  if (::inet_pton(AF_INET, terminated.c_str(), bytes) == 1) return address_of_v4(bytes);
  if (::inet_pton(AF_INET6, terminated.c_str(), bytes) == 1) return address_of_v6(bytes);
  return std::nullopt;
}

std::string to_text(const Address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(address.family == Family::v4 ? AF_INET : AF_INET6, address.bytes.data(), text,
              sizeof text);
  return text;
}

bool Prefix::contains(const Address& other) const {
  return address.family == other.family && same_bits(address, other, bits);
}

bool Prefix::contains(const Prefix& other) const {
  return bits <= other.bits && contains(other.address);
}

std::optional<Prefix> parse_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view first = text.substr(0, slash);
  const auto address = parse_address(first);
  if (!address) return std::nullopt;
  Prefix prefix{*address, width(address->family)};
  if (slash == text.npos) return prefix;
  auto bits = parse_decimal(text.substr(slash + 1), 3);
  // The length of a mapped address counts from the start of its IPv6 spelling.
  const bool mapped = address->family == Family::v4 && first.find(':') != first.npos;
  if (bits && mapped) bits = *bits >= 96 ? std::optional(*bits - 96) : std::nullopt;
  if (!bits || *bits > width(address->family)) return std::nullopt;
  prefix.bits = *bits;
  if (has_bits_behind(prefix)) return std::nullopt;
  return prefix;
}

std::string_view special_purpose(const Address& address) {
  for (const SpecialRange& range : special_ranges) {
    if (prefix_of(range).contains(address)) {
      // The two addresses outside of 2000::/3 that have a well-known name.
      static constexpr std::array<std::uint8_t, 16> loopback = {0, 0, 0, 0, 0, 0, 0, 0,
                                                                0, 0, 0, 0, 0, 0, 0, 1};
      if (address.family == Family::v6 && address.bytes == loopback) return "loopback";
      return range.purpose;
    }
  }
  return {};
}

bool is_special(const Prefix& prefix) {
  return std::any_of(std::begin(special_ranges), std::end(special_ranges),
                     [&](const SpecialRange& range) { return prefix_of(range).contains(prefix); });
}

}  // namespace jail::egress
