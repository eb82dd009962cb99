#include "runtime/living/text_search.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>

namespace runtime {
namespace {

using jail::Fd;
using jail::Result;

constexpr std::size_t read_bytes_at_a_time = 64u << 10;
// A longer line is searched in parts.
constexpr std::size_t max_line_bytes = 64u << 10;
constexpr std::size_t bytes_before_a_match = 100;
constexpr std::size_t max_kept_bytes = 1u << 20;

}  // namespace

Result<bool> TextSearch::run(Time time) {
  do {
    if (!file_.valid()) {
      if (auto begun = begin_next(); !begun) return begun.error();
    } else {
      search_some();
    }
    const bool is_full =
        matches_.size() >= limit_ || kept_bytes_ >= max_kept_bytes || read_bytes_ >= max_read_bytes;
    if (is_full && !is_over_) is_over_ = is_cut_ = true;
  } while (!is_over_ && std::chrono::steady_clock::now() < time);
  return !is_over_;
}

Result<void> TextSearch::begin_next() {
  const auto entry = walk_.next();
  if (!entry) return entry.error();
  if (!*entry) {
    is_over_ = true;
    return {};
  }
  if ((*entry)->type != FileEntry::Type::file) return {};
  auto file = walk_.open_file();
  // Files that the sandbox itself may not read are not searched.
  if (!file || !file->valid()) return {};
  file_ = std::move(*file);
  path_ = (*entry)->path;
  buffer_.clear();
  is_begun_ = is_found_in_line_ = false;
  line_ = 1;
  return {};
}

void TextSearch::search_some() {
  const std::size_t had = buffer_.size();
  buffer_.resize(had + read_bytes_at_a_time);
  const ssize_t got = ::read(file_.get(), buffer_.data() + had, read_bytes_at_a_time);
  buffer_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    search_line(buffer_);
    file_ = Fd();
    return;
  }
  read_bytes_ += static_cast<std::uint64_t>(got);
  const bool is_binary = !is_begun_ && buffer_.find('\0') != buffer_.npos;
  is_begun_ = true;
  if (is_binary) {
    file_ = Fd();
  } else {
    search_lines();
  }
}

void TextSearch::search_lines() {
  std::string_view left = buffer_;
  for (std::size_t end = left.find('\n'); end != left.npos; end = left.find('\n')) {
    search_line(left.substr(0, end));
    if (matches_.size() >= limit_) return;
    left.remove_prefix(end + 1);
    ++line_;
    is_found_in_line_ = false;
  }
  if (left.size() > max_line_bytes) {
    search_line(left);
    // The text may lie across the end of this part.
    left.remove_prefix(left.size() - (text_.size() - 1));
  }
  buffer_.erase(0, buffer_.size() - left.size());
}

void TextSearch::search_line(std::string_view line) {
  if (is_found_in_line_ || matches_.size() >= limit_) return;
  const std::size_t place = line.find(text_);
  if (place == line.npos) return;
  is_found_in_line_ = true;
  const std::size_t begin =
      line.size() <= max_text_bytes ? 0 : place - std::min(place, bytes_before_a_match);
  matches_.push_back({path_, line_, std::string(line.substr(begin, max_text_bytes))});
  kept_bytes_ += matches_.back().path.size() + matches_.back().text.size();
}

}  // namespace runtime
