// The destinations that a jail may reach: one rule, and all rules of a jail.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "egress/destination.h"
#include "jail/result.h"

namespace jail::egress {

enum class RuleKind : std::uint8_t {
  name,       // this name
  below,      // every name below it, at any depth
  addresses,  // a network, or one address
};

struct Rule {
  RuleKind kind = RuleKind::name;
  std::string name;  // canonical; empty with RuleKind::addresses
  Prefix prefix;
  std::uint16_t port = 0;
  std::string text;  // as written

  bool allows(std::string_view canonical, std::uint16_t to_port) const;
  // An address that is not public must be named by a rule for such addresses: a rule that is wide
  // enough to hold both kinds stands for the public ones only, since the author of 0.0.0.0/0 does
  // not think of the host's own services.
  bool allows(const Address& address, std::uint16_t to_port) const;
};

// Errors: invalid (names what is wrong).
Result<Rule> parse_rule(std::string_view text);
bool covers(const Rule& ceiling, const Rule& rule);

class RuleSet {
 public:
  explicit RuleSet(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  // The first rule that allows the destination; null where none does.
  const Rule* find(std::string_view canonical, std::uint16_t port) const;
  const Rule* find(const Address& address, std::uint16_t port) const;

  // Judges an address that an allowed name leads to. A public one is allowed; any other must be
  // named by a rule too, since otherwise the owner of the name could open the host's own network.
  // "localhost" has no owner: it names loopback addresses by itself (RFC 6761), and no others.
  bool allows_behind_name(std::string_view canonical, const Address& address,
                          std::uint16_t port) const;

 private:
  std::vector<Rule> rules_;
};

}  // namespace jail::egress
