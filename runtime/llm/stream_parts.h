// Streams of a model's answer, cut into their parts however the network cut them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runtime::llm {

constexpr std::size_t max_stream_part = 8u << 20;

// Lines that end in LF, CR LF or, where asked for, CR alone, without their ends. Bytes are not
// looked into: a letter of several bytes may come in pieces.
class LineSplitter {
 public:
  enum class Ends : unsigned char { lf, cr_too };
  LineSplitter(Ends ends, std::size_t max_bytes) : ends_(ends), max_bytes_(max_bytes) {}

  // Takes the next line off the front of `bytes`; nothing: all of them are taken, and no line is
  // complete.
  std::optional<std::string> next(std::string_view& bytes);
  // What has come of a line that has no end.
  std::string rest();
  // A line is longer than the bound. Nothing comes out any more.
  bool overflowed() const noexcept { return overflowed_; }

 private:
  const Ends ends_;
  const std::size_t max_bytes_;
  std::string line_;
  bool after_cr_ = false;  // an LF that comes now belongs to the line before
  bool overflowed_ = false;
};

struct SseEvent {
  std::string event;  // empty: the stream did not name it
  std::string data;   // lines joined by LF
};

// Server-sent events: comments, ids and times to reconnect after are left out, and so are events
// without data.
class SseReader {
 public:
  explicit SseReader(std::size_t max_bytes = max_stream_part)
      : max_bytes_(max_bytes), lines_(LineSplitter::Ends::cr_too, max_bytes) {}

  std::vector<SseEvent> feed(std::string_view bytes);
  // At the end of the stream: an event that no empty line followed. A connection that broke leaves
  // such a piece too, so it is for those who know that the stream is whole.
  std::optional<SseEvent> rest();
  // An event is larger than the bound. Nothing comes out any more.
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

// Lines with something on them: NDJSON.
class LineReader {
 public:
  explicit LineReader(std::size_t max_bytes = max_stream_part)
      : lines_(LineSplitter::Ends::lf, max_bytes) {}

  std::vector<std::string> feed(std::string_view bytes);
  // At the end of the stream: a line without an end.
  std::optional<std::string> rest();
  bool overflowed() const noexcept { return lines_.overflowed(); }

 private:
  LineSplitter lines_;
};

}  // namespace runtime::llm
