// The interface behind the HTTP server. A handler gets whole requests, and returns whole responses
// or writes them in pieces.
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

// A handler's findings about the head of a request, such as the route and the caller, which it
// needs for the rest of the request.
class RequestContext {
 public:
  virtual ~RequestContext() = default;
};

struct Admittance {
  std::optional<Response> refusal = std::nullopt;  // nullopt: the body is read
  std::shared_ptr<const RequestContext> context;   // comes back with the request; may be null
  bool is_upgrade = false;                         // the connection leaves HTTP: upgrade() gets it
  bool reads_body = false;  // handle() reads the body itself, in pieces, and bounds it
};

struct Request {
  RequestHead head;
  std::string body;                               // empty where it is read in pieces
  std::shared_ptr<const RequestContext> context;  // as admit() returned it
  // For an answer in pieces; valid until handle() returns. Null in upgrade().
  ResponseStream* stream = nullptr;
  // For Admittance::reads_body, valid as long; otherwise null.
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

  // Called when the head was read and nothing was answered yet. The connection is over when it
  // returns. `budget` is for what is read from it.
  virtual boost::asio::awaitable<void> upgrade(Socket socket, Request request, BodyBudget& budget,
                                               runtime::Cancel gone);

  // Called for every answer, including those that no other function here has seen. `head` is empty
  // where the connection was rejected; `context` is null where admit() returned none or was not
  // called.
  virtual void on_response(const RequestHead&, const RequestContext* /*context*/, int /*status*/) {}
};

}  // namespace server
