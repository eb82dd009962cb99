// The words of a text by which lessons are found again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runtime::lessons {

inline constexpr std::size_t max_words = 32;

// The words in lower case, without those that say nothing about a task ("write", "the",
// "function"), each once, in their order. A word consists of letters, digits and bytes beyond
// ASCII, so nothing in it has a meaning in a query language.
std::vector<std::string> telling_words(std::string_view text);

// Lower case with single blanks: equal for texts between which a reader sees no difference.
std::string normalised(std::string_view text);

// Returns at most `max_bytes` of well-formed UTF-8; no character is split.
std::string bounded_text(std::string_view text, std::size_t max_bytes);

}  // namespace runtime::lessons
