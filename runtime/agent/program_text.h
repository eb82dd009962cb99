// Programs as models write them, and text as prompts can bear it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace runtime::agent {

// The longest block between ``` fences that is Python or says nothing of its language. A fence that
// is never closed ends with the text. Nothing where no line begins with a fence.
std::optional<std::string> program_in_fence(std::string_view text);

// Whether the first line is one that Python programs begin with and sentences do not.
bool looks_like_program(std::string_view text);

// `text` in at most about `max_bytes`: its beginning, how much is left out, and its end, where
// programs say what went wrong. Valid UTF-8 is cut between characters.
std::string head_and_tail(std::string_view text, std::size_t max_bytes);

// How many bytes at the end of `bytes` may be the beginning of a character; 0 .. 3.
std::size_t unfinished_bytes(std::string_view bytes) noexcept;

}  // namespace runtime::agent
