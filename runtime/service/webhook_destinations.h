// Where webhooks may lead: what the operator says, and how URLs and addresses are judged by it.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/service/request_rules.h"

namespace runtime {

inline constexpr std::size_t max_webhook_url_bytes = 2048;

// Thread-safe: it does not change.
class WebhookDestinations {
 public:
  // A rule is HOST:PORT as of egress (jail/egress.h) and for https, or has "http://" in front and
  // is for http. One that is not valid allows nothing.
  explicit WebhookDestinations(std::vector<std::string> rules) : rules_(std::move(rules)) {}

  bool is_empty() const noexcept { return rules_.empty(); }

  // Why no webhook may lead to `url`, for who names it; nothing: it may. No name is looked up, so
  // whoever connects asks may_connect() too.
  Complaint why_not(std::string_view url) const;

  // Whether a connection may be made to an address that an allowed URL names or leads to: to a
  // public one, and to any that a rule for addresses names.
  bool may_connect(const sockaddr& address) const;

 private:
  std::vector<std::string> rules_;
};

}  // namespace runtime
