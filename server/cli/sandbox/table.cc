#include "server/cli/sandbox/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace server::client {
namespace {

constexpr std::size_t gap = 2;
constexpr std::string_view cut_mark = "…";

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

// Cells of a terminal that a character takes at most: those of Asia and pictures take two.
std::size_t cells_of(char first_byte) {
  return static_cast<unsigned char>(first_byte) >= 0xE3 ? 2 : 1;
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char byte : text) {
    if (begins_character(byte)) width += cells_of(byte);
  }
  return width;
}

// At most so wide, and exactly so wide where it was wider and its letters are narrow.
std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t used = 0;
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    if (!begins_character(text[bytes])) continue;
    if (used + cells_of(text[bytes]) + 1 > width) break;
    used += cells_of(text[bytes]);
  }
  return text.substr(0, bytes).append(cut_mark);
}

using Widths = std::vector<std::size_t>;

std::size_t whole_width(const Widths& widths) {
  return std::accumulate(widths.begin(), widths.end(), gap * (widths.size() - 1));
}

std::size_t min_width_of(const Column& column, std::size_t width) {
  if (column.min_width == 0) return width;
  return std::min(width, std::max(column.min_width, column.title.size()));
}

// Leaves out what has no room even where all others are cut, then cuts.
void fit(Widths& widths, const std::vector<Column>& columns, std::size_t width) {
  Widths least;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    least.push_back(min_width_of(columns[i], widths[i]));
  }
  while (least.size() > 1 && whole_width(least) > width) least.pop_back();
  widths.resize(least.size());
  while (whole_width(widths) > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (widths[i] <= least[i]) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

std::string line_of(const std::vector<std::string>& cells, const Widths& widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::string cell = cut(cells[i], widths[i]);
    line += cell;
    if (i + 1 < widths.size()) line.append(widths[i] - width_of(cell) + gap, ' ');
  }
  // The last cells may be empty.
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string table(const std::vector<Column>& columns,
                  const std::vector<std::vector<std::string>>& rows, std::size_t width) {
  Widths widths;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back(columns[i].title);
    widths.push_back(columns[i].title.size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  if (width != 0) fit(widths, columns, width);
  std::string text = line_of(titles, widths);
  for (const auto& row : rows) text += line_of(row, widths);
  return text;
}

std::size_t table_width(int fd) {
  winsize size{};
  if (::isatty(fd) != 1 || ::ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace server::client
