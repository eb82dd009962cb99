// One direction of a connection: what one side sends goes to the other, its end too, and no faster
// than that one takes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "jail/fd.h"

namespace jail::egress {

// A non-blocking socket. Whether it can be read from or written to is remembered from the events of
// an edge-triggered epoll until the kernel says otherwise.
struct Side {
  Fd fd;
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // the other end sends no more
};

class Flow {
 public:
  enum class State : std::uint8_t {
    waits,   // for an event
    more,    // there is more to do, and it is somebody else's turn
    over,    // all that came is passed on, its end too; or the receiver takes no more
    broken,  // the sender's end was no orderly one
  };

  // Goes out before what is read.
  void put(std::string bytes) { waiting_ += bytes; }
  // No more is read: what was put goes out, and then the end.
  void close() { ended_ = true; }

  // Uses up to `budget` bytes of reading; `room` is where it reads to.
  State move(Side& from, Side& to, std::size_t budget, std::span<char> room);
  // Only what was put.
  State flush(Side& to);

  std::uint64_t moved() const { return moved_; }

 private:
  State pass_end(Side& to);
  // The bytes that the socket took; the rest waits. False: it takes no more, ever.
  bool send(Side& to, std::string_view bytes, std::size_t& taken);

  std::string waiting_;  // from sent_ on
  std::size_t sent_ = 0;
  std::uint64_t moved_ = 0;
  bool ended_ = false;
  bool over_ = false;
};

}  // namespace jail::egress
