// What stands behind the HTTP server. It sees whole requests and returns whole responses.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "server/http/body_budget.h"
#include "server/http/message.h"
#include "server/http/socket.h"

namespace server {

// Called from several threads at once. Must outlive the server.
class Handler {
 public:
  virtual ~Handler() = default;

  // Looks at the head alone, before the body is read: a Response refuses the request, nothing lets
  // the body in.
  virtual std::optional<Response> admit(const RequestHead& head) const = 0;

  // `gone` is stopped when the client disconnects or the server cannot wait any longer: nobody
  // waits for the work's result then, so it should end soon.
  virtual boost::asio::awaitable<Response> handle(RequestHead head, std::string body,
                                                  std::stop_token gone) = 0;

  // True for a request that was admitted and leaves HTTP: take_over() gets its connection.
  virtual bool takes_over(const RequestHead&) const { return false; }

  // The head is read, nothing is answered yet. The connection is over when it returns. `budget` is
  // for what is read from it.
  virtual boost::asio::awaitable<void> take_over(Socket socket, RequestHead head,
                                                 BodyBudget& budget, std::stop_token gone);

  // Told of every answer, also of those that no other function here has seen. `head` is empty where
  // the connection was turned away.
  virtual void answered(const RequestHead&, int /*status*/) {}
};

}  // namespace server
