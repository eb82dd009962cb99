// An answer that its handler writes in pieces.
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

  // Begins an answer in pieces, with the status and the headers of `head`, whose body must be
  // empty; the result of handle() is then not sent. The head is sent with the first piece. `length`
  // is the number of bytes of all pieces together, where it is known. Exactly one of these must be
  // called, once and first.
  virtual void begin(const Response& head) = 0;
  virtual void begin(const Response& head, std::uint64_t length) = 0;
  virtual bool begun() const noexcept = 0;

  // Waits until the kernel has the whole piece, so a client that reads slowly suspends the caller.
  // An empty piece sends the head alone. Returns false where no more is taken, because the client
  // is gone, did not read in time, or asked for the head alone (HEAD), or because there are more
  // bytes than `length` said. The caller keeps the piece until then.
  virtual boost::asio::awaitable<bool> write(std::string_view piece) = 0;

  // Completes the answer. If a handler returns or throws without calling this, as after a failure
  // midway, the connection ends such that the client sees that the answer is incomplete. Returns
  // false where the client does not get it, or fewer bytes than `length` were written.
  virtual boost::asio::awaitable<bool> end() = 0;
};

}  // namespace server
