// The allowed destinations of webhooks: the operator's rules, and how URLs and addresses are judged
// by them.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/service/request_rules.h"

namespace runtime {

inline constexpr std::size_t max_webhook_url_bytes = 2048;

// Thread-safe, since it does not change.
class WebhookDestinations {
 public:
  // A rule is HOST:PORT as for egress (jail/egress.h) and applies to https; with "http://" in front
  // it applies to http. An invalid rule allows nothing.
  explicit WebhookDestinations(std::vector<std::string> rules) : rules_(std::move(rules)) {}

  bool is_empty() const noexcept { return rules_.empty(); }

  // Returns why no webhook may lead to `url`, for the caller who names it; std::nullopt: it may. No
  // name is looked up, so may_connect() must be called before connecting, too.
  Complaint why_not(std::string_view url) const;

  // Returns whether a connection may be made to an address that an allowed URL names or resolves
  // to: to a public one, and to any that a rule for addresses names.
  bool may_connect(const sockaddr& address) const;

 private:
  std::vector<std::string> rules_;
};

}  // namespace runtime
