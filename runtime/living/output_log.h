// What a process has printed: the latest bytes of both its outputs, in the order in which they
// came, for readers who each go on where they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sandbox/stream.h"

namespace runtime {

// Not thread-safe. A place in the output is a number of bytes from its beginning, of both streams
// together.
class OutputLog {
 public:
  // Keeps the latest `capacity` bytes, or somewhat fewer.
  explicit OutputLog(std::size_t capacity) : capacity_(capacity) {}

  void append(Stream stream, std::string_view bytes);

  struct Piece {
    Stream stream;
    std::string bytes;
  };
  struct Part {
    std::uint64_t from = 0;  // the place of the first byte
    std::uint64_t next = 0;  // where to go on
    std::uint64_t lost = 0;  // bytes before `from` that were asked for and are not kept any more
    std::vector<Piece> pieces = {};
  };
  // Up to `max_bytes` that are kept from `place` on; a place behind the end is the end.
  Part read(std::uint64_t place, std::size_t max_bytes) const;

  std::uint64_t begin() const noexcept { return end_ - kept_; }
  std::uint64_t end() const noexcept { return end_; }

 private:
  void drop_oldest();

  const std::size_t capacity_;
  std::deque<Piece> pieces_;
  std::size_t kept_ = 0;  // bytes in `pieces_`
  std::uint64_t end_ = 0;
};

}  // namespace runtime
