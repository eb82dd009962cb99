// The distance between a mistyped word and a known one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runtime {

// The optimal string alignment distance: the fewest insertions, deletions, substitutions and swaps
// of neighbours that turn `a` into `b`. It takes a.size() times b.size() steps, and memory for
// b.size() numbers.
std::size_t edit_distance(std::string_view a, std::string_view b);

// Returns the word of `known` that `word` most likely means, or std::nullopt where none is near: at
// most one letter in three may be inserted, deleted, substituted or swapped with its neighbour.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& known);

}  // namespace runtime
