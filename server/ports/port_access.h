// Access tokens in requests for ports, and what a browser sends along on its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"
#include "server/ports/port_call.h"

namespace server {

inline constexpr std::string_view access_token_header = "X-Access-Token";
inline constexpr std::string_view access_token_parameter = "access_token";
inline constexpr std::string_view access_token_cookie = "agent_sandbox_port";

// Returns the token in the header or the query; the header has precedence.
std::optional<std::string> token_shown(const RequestHead& head);
bool has_token_in_query(const RequestHead& head);
// Returns the tokens in our cookies, at most a few. A neighbouring site may have planted one.
std::vector<std::string> tokens_in_cookies(const RequestHead& head);

// Returns `query` without the parameter that has the token. The rest stays unchanged.
std::string without_token(std::string_view query);
// Returns the value of a Cookie header without our cookies; empty where no other is left.
std::string without_our_cookies(std::string_view cookies);

// The credential of a request that the browser may have added on its own.
enum class Ambient {
  nothing,  // no key is configured, so none is shown
  cookie,
};
// Returns false for requests that a browser sends for a page of another site. Our cookie is enough
// for following a link from there.
bool comes_from_own_pages(const RequestHead& head, Ambient ambient);

// Returns whether a browser opens the address as a page, whose scripts can read it.
bool opens_a_page(const RequestHead& head);
// Redirects a browser that has shown the token in its address to the same address without it. The
// token becomes a cookie that no script can read and that only this port gets.
Response to_address_without_token(const RequestHead& head, const PortTarget& target,
                                  std::string_view token);

}  // namespace server
