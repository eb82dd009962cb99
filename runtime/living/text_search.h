// Finds the lines of a sandbox's files that contain a text.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/fd.h"
#include "jail/result.h"
#include "runtime/living/tree_walk.h"

namespace runtime {

struct TextMatch {
  std::string path;        // within the directory
  std::uint64_t line = 0;  // from 1 on
  std::string text;        // the line, cut to TextSearch::max_text_bytes
};

// Searches files below a directory, as TreeWalk finds them, except those that have a NUL near their
// beginning. What it reads and keeps is bounded, whatever guests write meanwhile. Not thread-safe;
// it touches names that a guest may change.
class TextSearch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t max_text_bytes = 400;
  static constexpr std::uint64_t max_read_bytes = 512u << 20;

  // `text` must not be empty and must have no line feed. `limit` bounds the matches.
  TextSearch(jail::Fd directory, std::string text, std::size_t limit)
      : walk_(std::move(directory)), text_(std::move(text)), limit_(limit) {}

  // Continues for some milliseconds at least, until `time`. Returns false where it is finished.
  // Errors: as TreeWalk.
  jail::Result<bool> run(Time time);

  const std::vector<TextMatch>& matches() const noexcept { return matches_; }
  // Returns true where it ended before everything was searched.
  bool is_cut() const noexcept { return is_cut_; }

 private:
  jail::Result<void> begin_next();
  void search_some();
  void search_lines();
  void search_line(std::string_view line);

  TreeWalk walk_;
  const std::string text_;
  const std::size_t limit_;
  std::vector<TextMatch> matches_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t read_bytes_ = 0;
  bool is_over_ = false;
  bool is_cut_ = false;

  jail::Fd file_;  // the file that is being searched
  std::string path_;
  bool is_begun_ = false;
  std::string buffer_;  // starts at the beginning of a line, or in the middle of a long one
  std::uint64_t line_ = 0;
  bool is_found_in_line_ = false;
};

}  // namespace runtime
