#include "egress/rule.h"

#include <algorithm>

namespace jail::egress {
namespace {

Error wrong(std::string_view text, std::string what) {
  return {
      ErrorKind::invalid, "egress rule \"" + printable(text) + "\": " + std::move(what), 0,
      "write HOST:PORT, where HOST is a name, *.name, an address or a network such as 10.0.0.0/8 "
      "([2001:db8::/32]:443 for IPv6)"};
}

// Returns the rule that a URL stands for; empty where the text is not a URL.
std::string rule_of_url(std::string_view text) {
  const std::size_t slashes = text.find("://");
  if (slashes == text.npos) return {};
  std::string_view host = text.substr(slashes + 3);
  host = host.substr(0, host.find_first_of("/?#"));
  if (host.empty()) return {};
  const bool has_port = host.find(':') != host.npos;
  const char* const port = text.substr(0, slashes) == "http" ? ":80" : ":443";
  return printable(host) + (has_port ? "" : port);
}

bool is_below(std::string_view name, std::string_view parent) {
  return name.size() > parent.size() + 1 && name.ends_with(parent) &&
         name[name.size() - parent.size() - 1] == '.';
}

Result<Rule> address_rule(std::string_view text, std::string_view host, Rule rule) {
  const auto prefix = parse_prefix(host);
  if (prefix) {
    rule.kind = RuleKind::addresses;
    rule.prefix = *prefix;
    return rule;
  }
  const std::size_t slash = host.find('/');
  if (slash != host.npos && parse_address(host.substr(0, slash))) {
    return wrong(text, "the length of the network is out of range, or bits behind it are set");
  }
  return wrong(text, "\"" + printable(host) + "\" is no address or network");
}

}  // namespace

bool Rule::allows(std::string_view canonical, std::uint16_t to_port) const {
  if (to_port != port) return false;
  return kind == RuleKind::name ? canonical == name
                                : kind == RuleKind::below && is_below(canonical, name);
}

bool Rule::allows(const Address& address, std::uint16_t to_port) const {
  if (kind != RuleKind::addresses || to_port != port || !prefix.contains(address)) return false;
  return special_purpose(address).empty() || is_special(prefix);
}

Result<Rule> parse_rule(std::string_view text) {
  if (const std::string rule = rule_of_url(text); !rule.empty()) {
    return wrong(text, "not HOST:PORT, but a URL; write " + rule);
  }
  const auto parts = split_host_and_port(text);
  if (!parts) return wrong(text, "not HOST:PORT");
  if (parts->host == "*") {
    const std::string port = parts->port.empty() ? "443" : printable(parts->port);
    return wrong(text, "no rule is for all hosts; write *.org:" + port +
                           " for all below a name, or 0.0.0.0/0:" + port +
                           " for all public IPv4 addresses");
  }
  if (parts->port.empty())
    return wrong(text, "a port is missing; write " + printable(text) + ":443");
  const auto port = parse_port(parts->port);
  if (!port) return wrong(text, "a port is a number from 1 to 65535");
  Rule rule;
  rule.port = *port;
  rule.text = text;
  const std::string_view host = parts->host;
  const bool address = parts->bracketed || host.find('/') != host.npos || parse_address(host);
  if (address) return address_rule(text, host, std::move(rule));
  const bool below = host.starts_with("*.");
  auto name = canonical_name(below ? host.substr(2) : host);
  if (!name) return wrong(text, "\"" + printable(host) + "\" is neither a name nor an address");
  rule.kind = below ? RuleKind::below : RuleKind::name;
  rule.name = std::move(*name);
  return rule;
}

bool covers(const Rule& ceiling, const Rule& rule) {
  if (ceiling.port != rule.port) return false;
  if (rule.kind == RuleKind::addresses) {
    return ceiling.kind == RuleKind::addresses && ceiling.prefix.contains(rule.prefix) &&
           (is_special(ceiling.prefix) || !is_special(rule.prefix));
  }
  if (rule.kind == RuleKind::name) return ceiling.allows(rule.name, rule.port);
  return ceiling.kind == RuleKind::below &&
         (rule.name == ceiling.name || is_below(rule.name, ceiling.name));
}

const Rule* RuleSet::find(std::string_view canonical, std::uint16_t port) const {
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const Rule& rule) { return rule.allows(canonical, port); });
  return found == rules_.end() ? nullptr : &*found;
}

const Rule* RuleSet::find(const Address& address, std::uint16_t port) const {
  const auto found = std::find_if(rules_.begin(), rules_.end(),
                                  [&](const Rule& rule) { return rule.allows(address, port); });
  return found == rules_.end() ? nullptr : &*found;
}

bool RuleSet::allows_behind_name(std::string_view canonical, const Address& address,
                                 std::uint16_t port) const {
  const std::string_view purpose = special_purpose(address);
  const bool is_own = canonical == "localhost" && purpose == "loopback";
  return purpose.empty() || is_own || find(address, port) != nullptr;
}

}  // namespace jail::egress
