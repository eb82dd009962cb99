// A secret that belongs to a host: the gateway adds it to requests that leave a sandbox, and no
// program in the sandbox ever sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/secret.h"

namespace runtime {

inline constexpr std::size_t max_network_secrets = 16;
inline constexpr std::size_t max_secret_bytes = 8192;
inline constexpr std::size_t max_secret_header_bytes = 64;

// Everything about a secret that may be shown.
struct SecretName {
  std::string host;  // a name in small letters, or an address; an IPv6 address is in brackets
  std::uint16_t port = 443;
  std::string header;

  // HOST:PORT, which is also the rule that must allow it.
  std::string destination() const { return host + ":" + std::to_string(port); }
};

struct NetworkSecret {
  SecretName name;
  Secret value;
};

// Returns the host in its one spelling. Returns std::nullopt where it is neither a name nor an
// address: a pattern, a network, a host with a port or a user.
std::optional<std::string> secret_host(std::string_view text);
// Accepts a token (RFC 9110) of at most max_secret_header_bytes that is not for one connection
// alone, and does not frame the message or name its host.
bool is_secret_header(std::string_view name);
// Accepts 1 .. max_secret_bytes printable ASCII characters, with no blank on either side.
bool is_secret_value(std::string_view value);

// Returns whether both are one header to some server: letters of any case, and '_' for '-'.
bool is_same_header(std::string_view one, std::string_view other);
// Returns whether the header is for one connection alone, frames the message, or names its host.
bool is_of_one_hop(std::string_view name);
bool is_token(std::string_view text);

// Returns whether `host`, which a rule of `rules` must name, may be reached on that port.
bool is_named_by(const std::vector<std::string>& rules, const std::string& destination);

}  // namespace runtime
