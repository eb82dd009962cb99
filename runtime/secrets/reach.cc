#include "runtime/secrets/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "jail/egress.h"
#include "runtime/secrets/network_secret.h"

namespace runtime {
namespace {

// HOST and :PORT of the address; empty where it is not an Internet address.
struct Place {
  std::string host{};
  std::string port{};
};

Place place_of(const sockaddr& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ":" + std::to_string(ntohs(v4.sin_port))};
  }
  if (address.sa_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return {"[" + std::string(text) + "]", ":" + std::to_string(ntohs(v6.sin6_port))};
}

}  // namespace

// A rule for all addresses covers only the public ones.
bool may_reach(const std::vector<std::string>& rules, std::string_view host,
               const sockaddr& address) {
  const Place place = place_of(address);
  if (place.host.empty()) return false;
  const std::string whole = place.host + place.port;
  const bool is_public = jail::egress_rule_covers("0.0.0.0/0" + place.port, whole) ||
                         jail::egress_rule_covers("[::/0]" + place.port, whole);
  const bool is_own =
      host == "localhost" && (jail::egress_rule_covers("127.0.0.0/8" + place.port, whole) ||
                              jail::egress_rule_covers("[::1]" + place.port, whole));
  return is_public || is_own || is_named_by(rules, whole);
}

}  // namespace runtime
