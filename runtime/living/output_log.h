// What a process has printed: the latest bytes of both its outputs, in the order in which they
// came, for readers who each go on where they were.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/living/output_order.h"
#include "runtime/sandbox/stream.h"

namespace runtime {

// Not thread-safe. A place in the output is a number of bytes from its beginning, of both streams
// together.
class OutputLog {
 public:
  using Time = std::chrono::system_clock::time_point;

  // A process that writes single bytes to both outputs in turn makes a piece of each. At most so
  // many are kept.
  static constexpr std::size_t max_pieces = 4096;

  // Keeps the latest `capacity` bytes, or somewhat fewer. `order` is that of the sandbox.
  OutputLog(std::size_t capacity, std::shared_ptr<OutputOrder> order)
      : capacity_(capacity), order_(std::move(order)) {}

  // `now`: when they came.
  void append(Stream stream, std::string_view bytes, Time now);

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

  // What is kept of it from the piece on that has `place`, in the order of the sandbox.
  OutputLog latest(std::uint64_t place) const;
  std::size_t pieces() const noexcept { return pieces_.size(); }
  // The number of pieces that have a byte at `place` or after it.
  std::size_t pieces_from(std::uint64_t place) const noexcept;

  std::uint64_t begin() const noexcept { return end_ - kept_; }
  std::uint64_t end() const noexcept { return end_; }

  // Bytes of one stream that were printed together, nobody else having printed in between.
  struct Placed {
    std::uint64_t place = 0;  // of the first of them, in the order of the sandbox
    std::uint64_t end = 0;    // behind the last, also where `bytes` are fewer
    Time at{};                // when the first of the whole piece came
    Stream stream = Stream::standard_output;
    std::string bytes;
  };
  // Up to `max_bytes` of the first piece that is kept and has a byte at `place` or after it and
  // before `until`, places in the order of the sandbox. Nothing: there is none.
  std::optional<Placed> next_placed(std::uint64_t place, std::uint64_t until,
                                    std::size_t max_bytes) const;
  // The places in the order of the sandbox of the latest `most` ends of lines before `until`, of
  // `stream` or of both, and behind the last byte, in no order.
  struct LineEnds {
    std::vector<std::uint64_t> places;
    std::uint64_t end = 0;  // 0: nothing was printed there
  };
  LineEnds line_ends(std::optional<Stream> stream, std::uint64_t until, std::size_t most) const;

 private:
  struct Kept {
    Stream stream;
    std::uint64_t place;  // in the order of the sandbox
    Time at;
    std::string bytes;

    std::uint64_t end() const noexcept { return place + bytes.size(); }
  };

  void drop_oldest();

  const std::size_t capacity_;
  const std::shared_ptr<OutputOrder> order_;
  std::deque<Kept> pieces_;
  std::size_t kept_ = 0;  // bytes in `pieces_`
  std::uint64_t end_ = 0;
};

}  // namespace runtime
