// How far a mistyped word is from a known one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// The fewest letters that are added, left out, changed, or change places with their neighbour until
// `a` is `b` (the optimal string alignment). It takes a.size() times b.size() steps, and memory for
// b.size() numbers.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The word of `known` that `word` most likely means, or nothing where none is near: at most one
// letter in three may be added, left out, changed, or changed places with its neighbour.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace runtime
