// Access tokens in requests for ports, and what a browser sends along without being asked.
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

// The token that the header or the query shows; the header goes first.
std::optional<std::string> token_shown(const RequestHead& head);
bool has_token_in_query(const RequestHead& head);
// The tokens in cookies of ours, at most a few. A site beside ours may have planted one.
std::vector<std::string> tokens_in_cookies(const RequestHead& head);

// `query` without the parameter that has the token. The rest stays as it is.
std::string without_token(std::string_view query);
// The value of a Cookie header without cookies of ours; empty where no other is left.
std::string without_our_cookies(std::string_view cookies);

// What shows that a request may come, where nobody has put it there on purpose.
enum class Ambient {
  nothing,  // no key is configured, so none is shown
  cookie,
};
// False for what a browser sends for a page of another site. A cookie of ours is enough to follow a
// link from there.
bool comes_from_own_pages(const RequestHead& head, Ambient ambient);

// Whether a browser opens the address as a page, whose scripts can read it.
bool opens_a_page(const RequestHead& head);
// Sends a browser that has shown the token in its address to the same one without it. The token
// becomes a cookie that no script can read, which only this port gets.
Response to_address_without_token(const RequestHead& head, const PortTarget& target,
                                  std::string_view token);

}  // namespace server
