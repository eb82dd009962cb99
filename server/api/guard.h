// The checks of the client before every route.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/service/authentication.h"
#include "server/http/message.h"

namespace server {

// Returns the bearer token of the header Authorization.
std::optional<std::string_view> bearer_token(const RequestHead& head);

// Finds the principal of the key that is given as a bearer token, or else in X-API-Key. Takes the
// same time for every wrong key of one length.
std::optional<runtime::Principal> principal_shown(const RequestHead& head,
                                                  const runtime::Authentication& authentication);

// A page in a browser can make a name of its own resolve to 127.0.0.1 and then talk to a server
// there as its own site; only the Host header shows that. `allowed` are names in addition to the
// loopback ones.
bool is_local_host(const RequestHead& head, const std::vector<std::string>& allowed);

// A page may open a WebSocket to any site without a check by the browser; its Origin header shows
// where it comes from. Returns true without that header, for an allowed name with any port, and for
// the name and port in Host: a page that another program serves on another port of this host is a
// page of another site.
bool is_own_origin(const RequestHead& head, const std::vector<std::string>& allowed);

// Returns the problem where a request is not one for a WebSocket by a page of this server or
// without a page.
std::optional<Response> why_no_websocket(const RequestHead& head,
                                         const std::vector<std::string>& allowed);
// Returns whether the head asks to leave HTTP for WebSocket, and the problem with its key, if there
// is one (RFC 6455, section 4.2.1).
bool asks_for_websocket(const RequestHead& head);
std::optional<Response> check_websocket_key(const RequestHead& head);

// Returns whether a proxy in front of us says that the client used TLS; without a proxy it is the
// client's own word.
bool came_by_tls(const RequestHead& head);

// Accepts "application/json", perhaps with charset=utf-8. Browsers send it to no other site
// unasked.
bool is_json(const RequestHead& head);

}  // namespace server
