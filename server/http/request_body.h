// A request's body that its handler reads in pieces.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "server/http/message.h"

namespace server {

// Belongs to one request and is valid until handle() returns. Used on the connection's executor, by
// one coroutine at a time; an answer may be written meanwhile. The unread rest is skipped, or the
// connection is closed where that is much.
class RequestBody {
 public:
  virtual ~RequestBody() = default;

  struct Piece {
    std::size_t size = 0;  // number of bytes at the beginning of the room
    enum class State : std::uint8_t {
      more,    // there was at least one byte, and more may follow
      whole,   // the body is complete
      failed,  // the body broke off; refusal() says why, and nothing more comes
    } state = State::more;
  };

  // Waits for the next bytes and puts as many of them into `room`, which must not be empty. The
  // server holds some ten KiB of a body that is not read, and the client waits. Only the handler
  // bounds the body.
  virtual boost::asio::awaitable<Piece> read(std::span<char> room) = 0;

  // Must be called when nobody needs the rest: a pending read, and each that follows, fails. For a
  // handler that has answered already.
  virtual void stop() = 0;

  // The answer to a client whose body failed: 408 where it came too slowly, 400 where its framing
  // violates HTTP/1.1. A client that is gone gets none.
  virtual Response refusal() const = 0;
};

}  // namespace server
