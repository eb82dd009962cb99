// What of a request a server inside a sandbox gets to see, and what of its answer the client does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/message.h"
#include "server/ports/port_call.h"

namespace server {

// Of the body of a request.
struct BodyOnItsWay {
  enum class Kind : std::uint8_t { none, length, chunked } kind = Kind::none;
  std::string length = {};  // in decimal digits, where the kind is length
};
BodyOnItsWay body_of(const RequestHead& head);

// The head of the request to the server inside, from its request line to the empty line. Keys,
// tokens and cookies of ours, headers of this connection alone, and what a client says about who
// it is and where it came from, are not in it.
std::string head_for_guest(const RequestHead& head, const PortCall& call);

// Which headers of the server's answer the client gets, and what stands there beside them.
//
// By path the answer is at our own origin, where other things are. So it is shown as a document of
// no origin (CSP sandbox without allow-same-origin), and whatever would change what a browser
// remembers for the whole origin is left out: cookies, service workers, passwords, alternative
// services, reports, what other origins may read. By host name it has an origin of its own, where
// cookies stay that are for this one name.
std::vector<Header> headers_for_client(const std::vector<Header>& answer, const PortCall& call);

// Whether what came from the server inside agrees to speak WebSocket.
bool agrees_to_websocket(int status, const std::vector<Header>& answer);
// The whole answer to the client then.
std::string websocket_head(const std::vector<Header>& answer, std::string_view request_id);

}  // namespace server
