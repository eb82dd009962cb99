// What stands behind the HTTP server. It sees whole requests, and returns whole responses or writes
// them in pieces.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>

#include "runtime/sandbox/cancel.h"
#include "server/http/body_budget.h"
#include "server/http/message.h"
#include "server/http/request_body.h"
#include "server/http/response_stream.h"
#include "server/http/socket.h"

namespace server {

// What a handler found out from the head of a request and needs for the rest of it, such as the
// route and who asks.
class RequestContext {
 public:
  virtual ~RequestContext() = default;
};

struct Admittance {
  std::optional<Response> refusal = std::nullopt;  // nothing: the body is read
  std::shared_ptr<const RequestContext> context;   // handed back with this request; may be null
  bool is_upgrade = false;                         // leaves HTTP: upgrade() gets its connection
  bool reads_body = false;  // handle() reads the body itself, in pieces and however long it is
};

struct Request {
  RequestHead head;
  std::string body;                               // empty where it is read in pieces
  std::shared_ptr<const RequestContext> context;  // as admit() gave it
  // For an answer in pieces; valid until handle() returns. Null in upgrade().
  ResponseStream* stream = nullptr;
  // For Admittance::reads_body, as long; else null.
  RequestBody* pieces = nullptr;
  std::string peer = {};  // see peer_of()
};

// Called from several threads at once. Must outlive the server.
class Handler {
 public:
  virtual ~Handler() = default;

  // Looks at the head alone, before the body is read.
  virtual Admittance admit(const RequestHead& head) const = 0;

  // Returns the answer, or has written it to `request.stream`. `gone` is requested when the client
  // disconnects or the server cannot wait any longer: nobody waits for the work's result then, so
  // it should end soon.
  virtual boost::asio::awaitable<Response> handle(Request request, runtime::Cancel gone) = 0;

  // The head is read, nothing is answered yet. The connection is over when it returns. `budget` is
  // for what is read from it.
  virtual boost::asio::awaitable<void> upgrade(Socket socket, Request request, BodyBudget& budget,
                                               runtime::Cancel gone);

  // Told of every answer, also of those that no other function here has seen. `head` is empty where
  // the connection was turned away, `context` null where admit() gave none or was not asked.
  virtual void on_response(const RequestHead&, const RequestContext* /*context*/, int /*status*/) {}
};

}  // namespace server
