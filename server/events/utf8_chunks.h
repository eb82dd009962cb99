// Bytes that come in pieces, cut where characters end.
#pragma once

#include <string>
#include <string_view>

namespace server {

// A character whose bytes come in two pieces must not become two U+FFFD. What is put out, each
// piece repaired by itself, is together what the whole would be when repaired.
class Utf8Chunks {
 public:
  // What can be put out now; the beginning of a character is held back for the next piece.
  std::string add(std::string_view bytes);
  // What is still held back when no more comes.
  std::string finish();
  bool holds_back() const noexcept { return !held_.empty(); }

 private:
  std::string held_;  // at most three bytes
};

// How many bytes at the end of `bytes` may be the beginning of a character; 0 .. 3.
std::size_t unfinished_bytes(std::string_view bytes) noexcept;

}  // namespace server
