// The words of a text by which lessons are found again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runtime::lessons {

inline constexpr std::size_t max_words = 32;

// Lower case, without those that say nothing about a task ("write", "the", "function"), each once,
// in their order. Each is letters, digits and bytes beyond ASCII alone: nothing in them means
// anything to a query language.
std::vector<std::string> telling_words(std::string_view text);

// Lower case with single blanks: equal for texts that differ in nothing a reader would see.
std::string normalised(std::string_view text);

// At most `max_bytes` of well-formed UTF-8, never half a character.
std::string bounded_text(std::string_view text, std::size_t max_bytes);

}  // namespace runtime::lessons
