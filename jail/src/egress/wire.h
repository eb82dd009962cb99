// What the library and its proxy say to each other. Settings and the filter come in sealed files;
// how its confinement went, which is the first that the proxy says, admissions and decisions are
// one datagram each.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "egress/address.h"
#include "jail/egress.h"

namespace jail::egress {

// The numbers that the proxy gets its descriptors at.
inline constexpr int control_fd = 3;
inline constexpr int image_fd = 4;
inline constexpr int settings_fd = 5;
inline constexpr int filter_fd = 6;

struct Settings {
  std::vector<std::pair<std::string, Address>> addresses;  // canonical names
  std::uint32_t connections_per_jail = 64;
  std::chrono::seconds idle{300};
  std::chrono::seconds connect{10};
};
std::string to_text(const Settings& settings);
std::optional<Settings> parse_settings(std::string_view text);

// What a proxy that may not do more than it should says of itself; else it ends.
struct Confinement {
  int error = 0;  // 0: it is confined
  std::string doing = {};
};
std::string to_datagram(const Confinement& confinement);
std::optional<Confinement> parse_confinement(std::string_view datagram);

inline constexpr std::size_t most_rules = 256;
inline constexpr std::size_t most_label_bytes = 256;
inline constexpr std::size_t most_admission_bytes = 128 << 10;

// Comes with the proxy's end of the jail's socket pair.
struct Admission {
  std::string label;
  std::vector<std::string> rules;
};
std::string to_datagram(const Admission& admission);
Admission parse_admission(std::string_view datagram);

inline constexpr std::size_t most_decision_bytes = 2048;

std::string to_datagram(const EgressDecision& decision);
// Nothing where it is none. Whatever the bytes are, text in it can be printed.
std::optional<EgressDecision> parse_decision(std::string_view datagram);

}  // namespace jail::egress
