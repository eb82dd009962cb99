// One direction of a connection: it passes one side's bytes, and its end, on to the other side, no
// faster than that one takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "jail/fd.h"

namespace jail::egress {

// A non-blocking socket. It remembers whether it can be read from or written to from the events of
// an edge-triggered epoll, until the kernel says otherwise.
struct Side {
  Fd fd;
  bool readable = false;
  bool writable = false;
  bool hung_up = false;  // the other end sends no more
};

class Flow {
 public:
  enum class State : std::uint8_t {
    waits,   // waits for an event
    more,    // there is more to do, but it is another connection's turn
    over,    // all bytes and the end are passed on, or the receiver takes no more
    broken,  // the sender did not end in order
  };

  // The bytes go out before those that are read.
  void put(std::string bytes) { waiting_ += bytes; }
  // Stops reading: the bytes that were put go out, and then the end.
  void close() { ended_ = true; }

  // Reads up to `budget` bytes, by way of the buffer `room`.
  State move(Side& from, Side& to, std::size_t budget, std::span<char> room);
  // Sends only the bytes that were put.
  State flush(Side& to);

  std::uint64_t moved() const { return moved_; }

 private:
  State pass_end(Side& to);
  // `taken` is set to the number of bytes that the socket took; the rest waits. Returns false where
  // it will take no more, ever.
  bool send(Side& to, std::string_view bytes, std::size_t& taken);

  std::string waiting_;  // bytes from sent_ on are yet to be sent
  std::size_t sent_ = 0;
  std::uint64_t moved_ = 0;
  bool ended_ = false;
  bool over_ = false;
};

}  // namespace jail::egress
