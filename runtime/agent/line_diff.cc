#include "runtime/agent/line_diff.h"

#include <algorithm>
#include <cstddef>

namespace runtime::agent {
namespace {

using Lines = std::vector<std::string_view>;

// Bound on the cells of the table: enough for programs with some 2,000 changed lines each.
constexpr std::size_t max_work = 4'000'000;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

void append(std::vector<DiffLine>& diff, LineIs is, const Lines& lines, std::size_t from,
            std::size_t to) {
  for (std::size_t i = from; i < to; ++i) diff.push_back({is, lines[i]});
}

// The number of lines that old[i..] and now[j..] have in common, at i * (width + 1) + j.
class CommonLines {
 public:
  CommonLines(const Lines& old, const Lines& now)
      : width_(now.size() + 1), counts_((old.size() + 1) * width_) {
    for (std::size_t i = old.size(); i-- > 0;) {
      for (std::size_t j = now.size(); j-- > 0;) {
        counts_[i * width_ + j] =
            old[i] == now[j] ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  std::uint32_t at(std::size_t i, std::size_t j) const { return counts_[i * width_ + j]; }

 private:
  std::size_t width_;
  std::vector<std::uint32_t> counts_;
};

void diff_of_middle(const Lines& old, const Lines& now, std::vector<DiffLine>& diff) {
  if (old.size() * now.size() > max_work) {
    append(diff, LineIs::dropped, old, 0, old.size());
    append(diff, LineIs::added, now, 0, now.size());
    return;
  }
  const CommonLines common(old, now);
  std::size_t i = 0;
  std::size_t j = 0;
  Lines added;  // held back until all lines that are dropped in the same place are there
  const auto place_added = [&] {
    append(diff, LineIs::added, added, 0, added.size());
    added.clear();
  };
  while (i < old.size() || j < now.size()) {
    if (i < old.size() && j < now.size() && old[i] == now[j]) {
      place_added();
      diff.push_back({LineIs::kept, now[j]});
      ++i;
      ++j;
    } else if (j == now.size() || (i < old.size() && common.at(i + 1, j) >= common.at(i, j + 1))) {
      diff.push_back({LineIs::dropped, old[i++]});
    } else {
      added.push_back(now[j++]);
    }
  }
  place_added();
}

}  // namespace

std::vector<DiffLine> line_diff(std::string_view before, std::string_view after) {
  const Lines old = lines_of(before);
  const Lines now = lines_of(after);
  std::size_t same = 0;  // number of equal lines at the beginning
  while (same < old.size() && same < now.size() && old[same] == now[same]) ++same;
  std::size_t last = 0;  // number of equal lines at the end
  while (last + same < old.size() && last + same < now.size() &&
         old[old.size() - 1 - last] == now[now.size() - 1 - last]) {
    ++last;
  }
  std::vector<DiffLine> diff;
  append(diff, LineIs::kept, now, 0, same);
  const auto middle = [&](const Lines& lines) {
    return Lines(lines.begin() + static_cast<std::ptrdiff_t>(same),
                 lines.end() - static_cast<std::ptrdiff_t>(last));
  };
  diff_of_middle(middle(old), middle(now), diff);
  append(diff, LineIs::kept, now, now.size() - last, now.size());
  return diff;
}

}  // namespace runtime::agent
