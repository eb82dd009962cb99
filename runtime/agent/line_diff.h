// The difference between two texts, line by line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace runtime::agent {

enum class LineIs : std::uint8_t { kept, dropped, added };

struct DiffLine {
  LineIs is = LineIs::kept;
  std::string_view text;  // without its line end; a view into one of the two texts
};

// Drops and adds as few lines as possible; beyond a bound of work, all lines that differ are
// dropped and added as a whole. Dropped lines come before the added ones that take their place.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

}  // namespace runtime::agent
