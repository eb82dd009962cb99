// The output of a process: the latest bytes of both its streams, in the order in which they came,
// for readers who each continue where they stopped.
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

  // A process that writes single bytes to both streams in turn makes a piece of each; at most this
  // many pieces are kept.
  static constexpr std::size_t max_pieces = 4096;

  // Keeps the latest `capacity` bytes, or somewhat fewer. `order` is that of the sandbox.
  OutputLog(std::size_t capacity, std::shared_ptr<OutputOrder> order)
      : capacity_(capacity), order_(std::move(order)) {}

  // `now` is the time at which the bytes came.
  void append(Stream stream, std::string_view bytes, Time now);

  struct Piece {
    Stream stream;
    std::string bytes;
  };
  struct Part {
    std::uint64_t from = 0;  // the place of the first byte
    std::uint64_t next = 0;  // where the next read() continues
    std::uint64_t lost = 0;  // bytes before `from` that were requested but are no longer kept
    std::vector<Piece> pieces = {};
  };
  // Returns up to `max_bytes` of what is kept from `place` on; a place beyond the end means the
  // end.
  Part read(std::uint64_t place, std::size_t max_bytes) const;

  // Returns what is kept, from the piece on that contains `place`, which is a place in the order of
  // the sandbox.
  OutputLog latest(std::uint64_t place) const;
  std::size_t pieces() const noexcept { return pieces_.size(); }
  // The number of pieces that have a byte at `place` or after it.
  std::size_t pieces_from(std::uint64_t place) const noexcept;

  std::uint64_t begin() const noexcept { return end_ - kept_; }
  std::uint64_t end() const noexcept { return end_; }

  // Bytes of one stream that were printed together, with nothing else printed in between.
  struct Placed {
    std::uint64_t place = 0;  // place of the first byte, in the order of the sandbox
    std::uint64_t end = 0;    // place behind the last byte, also where `bytes` are fewer
    Time at{};                // the time at which the first byte of the whole piece came
    Stream stream = Stream::standard_output;
    std::string bytes;
  };
  // Returns up to `max_bytes` of the first kept piece that has a byte at `place` or after it and
  // before `until`; both are places in the order of the sandbox. Returns std::nullopt where there
  // is none.
  std::optional<Placed> next_placed(std::uint64_t place, std::uint64_t until,
                                    std::size_t max_bytes) const;
  // The places behind the latest `most` line ends before `until`, of `stream` or of both, and the
  // place behind the last byte. All are in the order of the sandbox, but not sorted.
  struct LineEnds {
    std::vector<std::uint64_t> places;
    std::uint64_t end = 0;  // 0: nothing was printed
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
