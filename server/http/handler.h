// What stands behind the HTTP server. It sees whole requests and returns whole responses.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <stop_token>
#include <string>

#include "server/http/message.h"

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
};

}  // namespace server
