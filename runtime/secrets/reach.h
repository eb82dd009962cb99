// The addresses to which a request with a secret may go.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// Judges an address to which `host` leads, as the proxy of egress does: a public one is fine, any
// other must be named by a rule, and localhost stands for loopback addresses by itself.
bool may_reach(const std::vector<std::string>& rules, std::string_view host,
               const sockaddr& address);

}  // namespace runtime
