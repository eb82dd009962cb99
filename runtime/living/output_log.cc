#include "runtime/living/output_log.h"

#include <algorithm>

namespace runtime {
namespace {

// Output is dropped by whole pieces, so they are small beside what is kept.
constexpr std::size_t piece_bytes = 8u << 10;
// A process that writes single bytes to both outputs in turn makes a piece of each.
constexpr std::size_t max_pieces = 4096;

}  // namespace

void OutputLog::append(Stream stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const bool goes_on = !pieces_.empty() && pieces_.back().stream == stream &&
                         pieces_.back().bytes.size() < piece_bytes;
    if (!goes_on) pieces_.push_back({stream, {}});
    std::string& last = pieces_.back().bytes;
    const std::size_t count = std::min(bytes.size(), piece_bytes - last.size());
    last.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    kept_ += count;
    end_ += count;
    while (kept_ > capacity_ || pieces_.size() > max_pieces) drop_oldest();
  }
}

OutputLog::Part OutputLog::read(std::uint64_t place, std::size_t max_bytes) const {
  Part part;
  place = std::min(place, end_);
  part.from = std::max(place, begin());
  part.lost = part.from - place;
  part.next = part.from;
  std::uint64_t piece_begin = begin();
  for (const Piece& piece : pieces_) {
    const std::uint64_t piece_end = piece_begin + piece.bytes.size();
    if (piece_end > part.next && max_bytes > 0) {
      const auto skipped = static_cast<std::size_t>(part.next - piece_begin);
      std::string bytes = piece.bytes.substr(skipped, max_bytes);
      max_bytes -= bytes.size();
      part.next += bytes.size();
      const bool same = !part.pieces.empty() && part.pieces.back().stream == piece.stream;
      if (same) {
        part.pieces.back().bytes += bytes;
      } else {
        part.pieces.push_back({piece.stream, std::move(bytes)});
      }
    }
    piece_begin = piece_end;
  }
  return part;
}

void OutputLog::drop_oldest() {
  kept_ -= pieces_.front().bytes.size();
  pieces_.pop_front();
}

}  // namespace runtime
