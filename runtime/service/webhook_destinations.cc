#include "runtime/service/webhook_destinations.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>

#include "jail/egress.h"

namespace runtime {
namespace {

constexpr std::string_view http = "http://";
constexpr std::string_view https = "https://";

struct Target {
  bool is_plain = false;  // http
  std::string place;      // HOST:PORT
};

// Accepts names and addresses in spellings with only one meaning: no user, no password, and nothing
// that another reader of the URL could take for the end of the host.
bool is_authority(std::string_view text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]";
  return !text.empty() && text.find_first_not_of(letters) == text.npos;
}

bool is_rest_of_url(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    return letter > ' ' && letter < '\x7f' &&
           std::string_view("#\\\"<>^`{|}").find(letter) == std::string_view::npos;
  });
}

// Returns std::nullopt where `url` is not one that a webhook may have.
std::optional<Target> target_of(std::string_view url) {
  if (url.size() > max_webhook_url_bytes) return std::nullopt;
  Target target;
  target.is_plain = url.starts_with(http);
  if (!target.is_plain && !url.starts_with(https)) return std::nullopt;
  url.remove_prefix(target.is_plain ? http.size() : https.size());
  const std::string_view authority = url.substr(0, url.find_first_of("/?"));
  if (!is_authority(authority) || !is_rest_of_url(url)) return std::nullopt;
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  const bool has_port = colon != authority.npos && (bracket == authority.npos || colon > bracket);
  target.place = authority;
  if (!has_port) target.place += target.is_plain ? ":80" : ":443";
  // A rule for one host has the form of that host.
  if (!jail::check_egress_rule(target.place)) return std::nullopt;
  return target;
}

bool is_for_http(std::string_view rule) { return rule.starts_with(http); }

std::string_view without_scheme(std::string_view rule) {
  return is_for_http(rule) ? rule.substr(http.size()) : rule;
}

// The rule for the address; empty where it is not an Internet address.
std::string rule_of(const sockaddr& address, std::string& port) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    port = std::to_string(ntohs(v4.sin_port));
    return text + (":" + port);
  }
  if (address.sa_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  port = std::to_string(ntohs(v6.sin6_port));
  return "[" + std::string(text) + "]:" + port;
}

}  // namespace

Complaint WebhookDestinations::why_not(std::string_view url) const {
  const auto target = target_of(url);
  if (!target) {
    return "expected a URL of at most " + std::to_string(max_webhook_url_bytes) +
           " visible ASCII characters: https:// (or http://, where the operator allows it), a "
           "host, perhaps a port, a path and a query; no user, password and fragment";
  }
  std::string allowed;
  for (const std::string& rule : rules_) {
    if (is_for_http(rule) == target->is_plain &&
        jail::egress_rule_covers(without_scheme(rule), target->place)) {
      return std::nullopt;
    }
    allowed += (allowed.empty() ? "" : ", ") + rule;
  }
  return std::string(target->is_plain ? http : std::string_view()) + target->place +
         " is beyond what the operator allows (SANDBOX_WEBHOOKS_ALLOW), which is " +
         (allowed.empty() ? "nothing" : allowed);
}

// A rule for all addresses covers only the public ones.
bool WebhookDestinations::may_connect(const sockaddr& address) const {
  std::string port;
  const std::string place = rule_of(address, port);
  if (place.empty()) return false;
  const bool is_public = jail::egress_rule_covers("0.0.0.0/0:" + port, place) ||
                         jail::egress_rule_covers("[::/0]:" + port, place);
  return is_public || std::any_of(rules_.begin(), rules_.end(), [&](const std::string& rule) {
           return jail::egress_rule_covers(without_scheme(rule), place);
         });
}

}  // namespace runtime
