// The rules for paths of a spec.
#pragma once

#include <string>
#include <string_view>

namespace jail {

inline bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

// Absolute, without the components "", "." and "..": a target is walked component by component.
bool is_plain_path(const std::string& path);

// Both must be plain paths.
bool is_at_or_below(std::string_view path, std::string_view directory);

// Returns whether `c` is an ASCII control character, which could begin a line or move what is
// shown.
bool is_control(char c);
// Returns whether the text is not empty and on one line, so that a reason that is shown as a line
// cannot pretend to be another line.
bool is_one_line(std::string_view text);

// File systems of the kernel's, and the whole root, are never shown beside a root.
bool is_kernels_own(std::string_view path);

}  // namespace jail
