// A request's body that is read in pieces, as its handler wants them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "server/http/message.h"

namespace server {

// Belongs to one request and is valid until handle() returns. Used on the connection's executor, by
// one coroutine at a time; an answer may be written meanwhile. What the handler leaves unread is
// skipped, or the connection closed where that is much.
class RequestBody {
 public:
  virtual ~RequestBody() = default;

  struct Piece {
    std::size_t size = 0;  // of the bytes at the beginning of the room
    enum class State : std::uint8_t {
      more,    // there was at least one byte, and there may be others
      whole,   // this was the last of the body
      failed,  // the body ends in the middle; refusal() says why, and nothing more comes
    } state = State::more;
  };

  // Waits for the next bytes and puts as many of them into `room`, which is not empty. The server
  // holds some ten KiB of a body that is not read on, and its client waits. There is no bound to a
  // body but the handler's own.
  virtual boost::asio::awaitable<Piece> read(std::span<char> room) = 0;

  // Nobody wants the rest: a read that goes on, and each that follows, fails. For a handler that
  // has answered already.
  virtual void stop() = 0;

  // What a client hears whose body failed: 408 where it came too slowly, 400 where it is not framed
  // as HTTP/1.1 says. One that is gone hears nothing.
  virtual Response refusal() const = 0;
};

}  // namespace server
