// The rules for a request's head that ensure that we and every proxy before us agree on where it
// ends and whose it is. Beast's parser is more lenient in each of these points.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace server {

inline constexpr int max_header_lines = 100;

// Returns true where there are no control characters other than the tabulator.
bool is_printable(std::string_view text);

// Returns true where `text` begins as a TLS handshake does (RFC 8446, section 5.1). Such a client
// waits for an answer before it sends anything that looks like the end of a head.
bool begins_tls(std::string_view text);

// `head` runs from the request line to the empty line, both included. Returns std::nullopt where it
// is valid, else the complaint for the client: line ends other than CRLF, control characters,
// folded lines, repeated headers that decide framing, host or identity, Transfer-Encoding other
// than one "chunked" or beside Content-Length or in HTTP/1.0, no Host in HTTP/1.1, a target that
// names another host than Host does.
std::optional<std::string> check_head(std::string_view head);

}  // namespace server
