#include "runtime/living/output_log.h"

#include <algorithm>

namespace runtime {
namespace {

// Output is dropped by whole pieces, so they are small in proportion to what is kept.
constexpr std::size_t piece_bytes = 8u << 10;
// A piece has one time, so it covers at most this long.
constexpr std::chrono::seconds longest_piece{1};

}  // namespace

void OutputLog::append(Stream stream, std::string_view bytes, Time now) {
  if (bytes.empty()) return;
  std::uint64_t place = order_->take(bytes.size());
  while (!bytes.empty()) {
    const bool goes_on =
        !pieces_.empty() && pieces_.back().stream == stream && pieces_.back().end() == place &&
        pieces_.back().bytes.size() < piece_bytes && now < pieces_.back().at + longest_piece;
    if (!goes_on) pieces_.push_back({stream, place, now, {}});
    std::string& last = pieces_.back().bytes;
    const std::size_t count = std::min(bytes.size(), piece_bytes - last.size());
    last.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    place += count;
    kept_ += count;
    end_ += count;
    while (kept_ > capacity_ || pieces_.size() > max_pieces) drop_oldest();
  }
}

std::size_t OutputLog::pieces_from(std::uint64_t place) const noexcept {
  std::size_t count = 0;
  std::uint64_t piece_end = end_;
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend() && piece_end > place; ++piece) {
    piece_end -= piece->bytes.size();
    ++count;
  }
  return count;
}

OutputLog::Part OutputLog::read(std::uint64_t place, std::size_t max_bytes) const {
  Part part;
  place = std::min(place, end_);
  part.from = std::max(place, begin());
  part.lost = part.from - place;
  part.next = part.from;
  std::uint64_t piece_begin = begin();
  for (const Kept& piece : pieces_) {
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

OutputLog OutputLog::latest(std::uint64_t place) const {
  OutputLog log(capacity_, order_);
  log.end_ = end_;
  for (const Kept& piece : pieces_) {
    if (piece.end() <= place) continue;
    log.pieces_.push_back(piece);
    log.kept_ += piece.bytes.size();
  }
  return log;
}

std::optional<OutputLog::Placed> OutputLog::next_placed(std::uint64_t place, std::uint64_t until,
                                                        std::size_t max_bytes) const {
  const auto found = std::partition_point(
      pieces_.begin(), pieces_.end(), [place](const Kept& piece) { return piece.end() <= place; });
  if (found == pieces_.end() || std::max(place, found->place) >= until) return std::nullopt;
  Placed placed;
  placed.place = std::max(place, found->place);
  placed.end = std::min(found->end(), until);
  placed.at = found->at;
  placed.stream = found->stream;
  const std::size_t count =
      std::min(max_bytes, static_cast<std::size_t>(placed.end - placed.place));
  placed.bytes = found->bytes.substr(static_cast<std::size_t>(placed.place - found->place), count);
  return placed;
}

OutputLog::LineEnds OutputLog::line_ends(std::optional<Stream> stream, std::uint64_t until,
                                         std::size_t most) const {
  LineEnds ends;
  for (std::size_t left_over = pieces_.size(); left_over > 0; --left_over) {
    const Kept& piece = pieces_[left_over - 1];
    if (ends.places.size() >= most) break;
    if (piece.place >= until || (stream && *stream != piece.stream)) continue;
    const auto size = static_cast<std::size_t>(std::min(piece.end(), until) - piece.place);
    ends.end = std::max(ends.end, piece.place + size);
    std::string_view left = std::string_view(piece.bytes).substr(0, size);
    for (;;) {
      const std::size_t line_end = left.rfind('\n');
      if (line_end == left.npos || ends.places.size() >= most) break;
      ends.places.push_back(piece.place + line_end);
      left = left.substr(0, line_end);
    }
  }
  return ends;
}

void OutputLog::drop_oldest() {
  kept_ -= pieces_.front().bytes.size();
  pieces_.pop_front();
}

}  // namespace runtime
