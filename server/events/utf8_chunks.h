// Splits bytes that come in pieces where characters end.
#pragma once

#include <string>
#include <string_view>

namespace server {

// A character whose bytes come in two pieces must not become two U+FFFD. The pieces that are
// returned, each repaired by itself, equal together the repaired whole.
class Utf8Chunks {
 public:
  // Returns what is complete by now; the beginning of a character is held back for the next piece.
  std::string add(std::string_view bytes);
  // Returns what is still held back, when no more comes.
  std::string finish();
  bool holds_back() const noexcept { return !held_.empty(); }

 private:
  std::string held_;  // at most three bytes
};

// The number of bytes at the end of `bytes` that may be the beginning of a character; 0 .. 3.
std::size_t unfinished_bytes(std::string_view bytes) noexcept;

}  // namespace server
