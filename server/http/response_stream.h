// An answer that is written in pieces, as its handler has them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/http/message.h"

namespace server {

// Belongs to one request and is valid until handle() returns. Used on the connection's executor, by
// one coroutine at a time.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;

  // Decides that this request is answered in pieces, with the status and the headers of `head`,
  // whose body is empty; what handle() returns is not sent then. The head goes out with the first
  // piece. `length`: of all pieces together in bytes, where it is known. Call one of them, once and
  // first.
  virtual void begin(const Response& head) = 0;
  virtual void begin(const Response& head, std::uint64_t length) = 0;
  virtual bool begun() const noexcept = 0;

  // Waits until the kernel has the whole piece, so a client that reads slowly suspends the caller.
  // An empty piece sends the head alone. False: no more is taken, because the client is gone, did
  // not read in time, or asked for the head alone (HEAD), or because there are more bytes than
  // `length` said. The caller keeps the piece until then.
  virtual boost::asio::awaitable<bool> write(std::string_view piece) = 0;

  // The answer is complete. A handler that returns or throws without it, as it does when something
  // failed midway, ends the connection such that the client sees that something is missing. False:
  // the client does not get it, or fewer bytes than `length` were written.
  virtual boost::asio::awaitable<bool> end() = 0;
};

}  // namespace server
