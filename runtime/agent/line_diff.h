// What changed between two texts, line by line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace runtime::agent {

enum class LineIs : std::uint8_t { kept, dropped, added };

struct DiffLine {
  LineIs is = LineIs::kept;
  std::string_view text;  // without its end; into one of the two texts
};

// With as few lines dropped and added as there can be; beyond a bound of work all that differs is
// dropped and added whole. Dropped lines come before the added ones that take their place.
std::vector<DiffLine> line_diff(std::string_view before, std::string_view after);

}  // namespace runtime::agent
