// Splits streams of a model's answer into their parts, however the network has split them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runtime::llm {

constexpr std::size_t max_stream_part = 8u << 20;

// Splits at LF, CR LF or, where requested, CR alone; the lines come without their ends. The bytes
// are not interpreted: a character of several bytes may come in pieces.
class LineSplitter {
 public:
  enum class Ends : unsigned char { lf, cr_too };
  LineSplitter(Ends ends, std::size_t max_bytes) : ends_(ends), max_bytes_(max_bytes) {}

  // Takes the next line off the front of `bytes`. Returns std::nullopt where all of them are taken
  // and no line is complete.
  std::optional<std::string> next(std::string_view& bytes);
  // Returns the beginning of a line whose end has not come.
  std::string rest();
  // Returns true where a line is longer than the bound. Nothing comes out any more.
  bool overflowed() const noexcept { return overflowed_; }

 private:
  const Ends ends_;
  const std::size_t max_bytes_;
  std::string line_;
  bool after_cr_ = false;  // an LF that comes now still belongs to the previous line
  bool overflowed_ = false;
};

struct SseEvent {
  std::string event;  // empty: the stream gave no name
  std::string data;   // lines joined by LF
};

// Reads server-sent events. Skips comments, ids, reconnection times and events without data.
class SseReader {
 public:
  explicit SseReader(std::size_t max_bytes = max_stream_part)
      : max_bytes_(max_bytes), lines_(LineSplitter::Ends::cr_too, max_bytes) {}

  std::vector<SseEvent> feed(std::string_view bytes);
  // For the end of the stream: returns an event that no empty line followed. A broken connection
  // leaves such a piece too, so only a caller that knows the stream to be complete may use it.
  std::optional<SseEvent> rest();
  // Returns true where an event is larger than the bound. Nothing comes out any more.
  bool overflowed() const noexcept { return overflowed_ || lines_.overflowed(); }

 private:
  void take(std::string_view line, std::vector<SseEvent>& events);
  std::optional<SseEvent> dispatch();

  const std::size_t max_bytes_;
  LineSplitter lines_;
  bool first_ = true;
  bool has_data_ = false;
  SseEvent event_;
  bool overflowed_ = false;
};

// Reads lines that are not blank: NDJSON.
class LineReader {
 public:
  explicit LineReader(std::size_t max_bytes = max_stream_part)
      : lines_(LineSplitter::Ends::lf, max_bytes) {}

  std::vector<std::string> feed(std::string_view bytes);
  // For the end of the stream: returns a line without an end.
  std::optional<std::string> rest();
  bool overflowed() const noexcept { return lines_.overflowed(); }

 private:
  LineSplitter lines_;
};

}  // namespace runtime::llm
