// What paths of a spec may look like.
#pragma once

#include <string>
#include <string_view>

namespace jail {

inline bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

// Absolute, without "", "." and ".." in it: a target is walked piece by piece.
bool is_plain_path(const std::string& path);

// Both plain paths.
bool is_at_or_below(std::string_view path, std::string_view directory);

// Of ASCII: such as could begin a line, or move what is shown.
bool is_control(char c);
// Something is written in it, on one line: a reason that is shown as a line cannot pretend to be
// another one.
bool is_one_line(std::string_view text);

// Nothing of these file systems of the kernel's, nor the whole root, is ever shown beside a root.
bool is_kernels_own(std::string_view path);

}  // namespace jail
