// How far a mistyped word is from a known one.
#pragma once

#include <cstddef>
#include <string_view>

namespace runtime {

// The fewest letters that are added, left out, changed, or change places with their neighbour until
// `a` is `b` (the optimal string alignment). It takes a.size() times b.size() steps, and memory for
// b.size() numbers.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace runtime
