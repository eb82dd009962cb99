#include "runtime/llm/stream_parts.h"

#include <utility>

namespace runtime::llm {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

std::optional<std::string> LineSplitter::next(std::string_view& bytes) {
  if (overflowed_ || bytes.empty()) return std::nullopt;
  if (std::exchange(after_cr_, false) && bytes.front() == '\n') bytes.remove_prefix(1);
  const std::size_t end = bytes.find_first_of(ends_ == Ends::lf ? "\n" : "\r\n");
  const std::string_view piece = bytes.substr(0, end);
  if (piece.size() > max_bytes_ - line_.size()) {
    overflowed_ = true;
    line_ = {};
    return std::nullopt;
  }
  line_ += piece;
  bytes.remove_prefix(piece.size());
  if (bytes.empty()) return std::nullopt;
  after_cr_ = bytes.front() == '\r';
  bytes.remove_prefix(1);
  std::string line = std::exchange(line_, {});
  if (ends_ == Ends::lf && !line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

std::string LineSplitter::rest() { return std::exchange(line_, {}); }

std::vector<SseEvent> SseReader::feed(std::string_view bytes) {
  std::vector<SseEvent> events;
  while (!overflowed()) {
    const auto line = lines_.next(bytes);
    if (!line) break;
    take(*line, events);
  }
  return events;
}

std::optional<SseEvent> SseReader::rest() {
  std::vector<SseEvent> events;
  if (overflowed()) return std::nullopt;
  const std::string line = lines_.rest();
  if (!line.empty()) take(line, events);
  return overflowed() ? std::nullopt : dispatch();
}

void SseReader::take(std::string_view line, std::vector<SseEvent>& events) {
  if (std::exchange(first_, false) && line.substr(0, 3) == byte_order_mark) line.remove_prefix(3);
  if (line.empty()) {
    if (auto event = dispatch()) events.push_back(std::move(*event));
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view{} : line.substr(colon + 1);
  if (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  if (field == "event") {
    event_.event = value;
  } else if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  }
  overflowed_ = event_.data.size() + event_.event.size() > max_bytes_;
}

std::optional<SseEvent> SseReader::dispatch() {
  SseEvent event = std::exchange(event_, {});
  if (!std::exchange(has_data_, false)) return std::nullopt;
  return event;
}

std::vector<std::string> LineReader::feed(std::string_view bytes) {
  std::vector<std::string> lines;
  while (auto line = lines_.next(bytes)) {
    if (!blank(*line)) lines.push_back(std::move(*line));
  }
  return lines;
}

std::optional<std::string> LineReader::rest() {
  std::string line = lines_.rest();
  if (blank(line)) return std::nullopt;
  return line;
}

}  // namespace runtime::llm
