// Rows of text that fit the width of a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace server::client {

struct Column {
  std::string title;
  // So narrow it may become where there is no room, its end then being "…"; 0: it is never cut.
  std::size_t min_width = 0;
};

// `rows` hold a cell for each column, of one line each without control characters. Where `width`
// (0: no bound) is less than all takes, columns that have no room even where others are cut are
// left out from the right, but never the first, and then columns are cut, the widest first.
std::string table(const std::vector<Column>& columns,
                  const std::vector<std::vector<std::string>>& rows, std::size_t width);

// How many columns a terminal has; 0: `fd` is none.
std::size_t table_width(int fd);

}  // namespace server::client
