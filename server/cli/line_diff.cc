#include <algorithm>
#include <cstdint>

#include "server/cli/task_trace.h"

namespace server {
namespace {

using Lines = std::vector<std::string_view>;

// Of the table that the search fills.
constexpr std::size_t max_cells = 4'000'000;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<DiffLine> all_of_both(const Lines& before, const Lines& after) {
  std::vector<DiffLine> diff;
  for (const auto line : before) diff.push_back({DiffLine::Side::before, line});
  for (const auto line : after) diff.push_back({DiffLine::Side::after, line});
  return diff;
}

}  // namespace

std::vector<DiffLine> diff_of(std::string_view before, std::string_view after) {
  const Lines old_lines = lines_of(before);
  const Lines new_lines = lines_of(after);
  const std::size_t width = new_lines.size() + 1;
  if ((old_lines.size() + 1) * width > max_cells) return all_of_both(old_lines, new_lines);
  // common[i, j]: how many lines the rests from i and j on have in common, in order.
  std::vector<std::uint32_t> common((old_lines.size() + 1) * width);
  for (std::size_t i = old_lines.size(); i-- > 0;) {
    for (std::size_t j = new_lines.size(); j-- > 0;) {
      common[i * width + j] = old_lines[i] == new_lines[j] ? common[(i + 1) * width + j + 1] + 1
                                                           : std::max(common[(i + 1) * width + j],
                                                                      common[i * width + j + 1]);
    }
  }
  std::vector<DiffLine> diff;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old_lines.size() || j < new_lines.size()) {
    if (i < old_lines.size() && j < new_lines.size() && old_lines[i] == new_lines[j]) {
      diff.push_back({DiffLine::Side::both, old_lines[i++]});
      ++j;
    } else if (j == new_lines.size() ||
               (i < old_lines.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      diff.push_back({DiffLine::Side::before, old_lines[i++]});
    } else {
      diff.push_back({DiffLine::Side::after, new_lines[j++]});
    }
  }
  return diff;
}

}  // namespace server
