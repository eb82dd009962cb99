// The parts of a request that a server inside a sandbox sees, and the parts of its answer that the
// client sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"
#include "server/ports/port_call.h"

namespace server {

// The framing of a request's body.
struct BodyOnItsWay {
  enum class Kind : std::uint8_t { none, length, chunked } kind = Kind::none;
  std::string length = {};  // in decimal digits, where the kind is length
};
BodyOnItsWay body_of(const RequestHead& head);

// Returns the head of the request to the server inside, from its request line to the empty line,
// without our keys, tokens and cookies, without headers of this connection, and without the
// client's claims about its identity and origin.
std::string head_for_guest(const RequestHead& head, const PortCall& call);

// Returns the headers for the client: those of the server's answer that it may get, and our own.
//
// By path the answer is at our own origin, where other things are. So it is shown as a document
// without an origin (CSP sandbox without allow-same-origin), and everything is removed that would
// change what a browser stores for the whole origin: cookies, service workers, passwords,
// alternative services, reports, what other origins may read. By host name the answer has an origin
// of its own, and keeps cookies for this one name.
std::vector<Header> headers_for_client(const std::vector<Header>& answer, const PortCall& call);

// Returns whether the answer of the server inside agrees to a WebSocket.
bool agrees_to_websocket(int status, const std::vector<Header>& answer);
// The whole answer to the client in that case.
std::string websocket_head(const std::vector<Header>& answer, std::string_view request_id);

}  // namespace server
