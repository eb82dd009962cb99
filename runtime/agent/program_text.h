// Finds programs in the text of models, and shortens text for prompts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace runtime::agent {

// The longest block between ``` fences that is marked as Python or not marked at all. A fence that
// is never closed ends with the text. Returns std::nullopt where no line begins with a fence.
std::optional<std::string> program_in_fence(std::string_view text);

// Returns whether the first line is one with which Python programs begin and sentences do not.
bool looks_like_program(std::string_view text);

// `text` shortened to about `max_bytes`: its beginning, a note of how much is left out, and its
// end, where programs say what went wrong. Valid UTF-8 is cut between characters.
std::string head_and_tail(std::string_view text, std::size_t max_bytes);

// The number of bytes at the end of `bytes` that may be the beginning of a character; 0 .. 3.
std::size_t unfinished_bytes(std::string_view bytes) noexcept;

}  // namespace runtime::agent
