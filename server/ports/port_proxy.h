// Forwards requests to servers inside sandboxes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>

#include "runtime/living/port_connection.h"
#include "runtime/sandbox/cancel.h"
#include "runtime/service/services.h"
#include "server/http/message.h"
#include "server/http/request_body.h"
#include "server/http/response_stream.h"
#include "server/http/socket.h"
#include "server/ports/port_call.h"

namespace server {

struct PortOptions {
  // How long a server may be silent before its answer; between two pieces of an answer, and on a
  // WebSocket, ten times as long.
  std::chrono::milliseconds head_timeout{60'000};
  std::chrono::milliseconds write_timeout{60'000};  // for a piece, to the client

  std::chrono::milliseconds idle_timeout() const { return 10 * head_timeout; }
};

// Sends a whole answer to a client that asked for a WebSocket and gets none. The connection must
// then end.
boost::asio::awaitable<void> answer_and_end(Socket& client, Response response,
                                            std::string_view request_id);

// Each request has a connection of its own to the server inside, which speaks HTTP/1.1 and is asked
// to close it. Both sides are parsed and written anew, so that their messages are framed as we
// understood them. Some ten KiB are held in each direction; a side that does not read makes the
// other one wait. Thread-safe; referenced objects must outlive it.
class PortProxy {
 public:
  PortProxy(const runtime::Services& services, PortOptions options)
      : services_(services), options_(options) {}

  // Returns the answer for the client where the server inside did not answer; otherwise writes that
  // answer to `answer`.
  boost::asio::awaitable<Response> serve(RequestHead head, PortCall call, RequestBody& body,
                                         ResponseStream& answer, runtime::Cancel gone) const;

  // The same for a connection that is to become a WebSocket: bytes go both ways from then on, until
  // either side ends it.
  boost::asio::awaitable<void> upgrade(Socket client, RequestHead head, PortCall call,
                                       runtime::Cancel gone) const;

  // The connection itself as a WebSocket: binary messages are its bytes, in both directions. See
  // the folder's README for how it ends.
  boost::asio::awaitable<void> tunnel(Socket client, RequestHead head, PortCall call,
                                      runtime::Cancel gone) const;

 private:
  // Connects for a client that asked for a WebSocket. Returns nothing where it could not, and the
  // client has been told why.
  boost::asio::awaitable<std::optional<runtime::PortConnection>> connect_or_answer(
      Socket& client, const RequestHead& head, const PortCall& call, runtime::Cancel gone) const;

  const runtime::Services services_;
  const PortOptions options_;
};

}  // namespace server
