#include "plan/path_rules.h"

#include <algorithm>

namespace jail {

bool is_plain_path(const std::string& path) {
  if (path.size() < 2 || path[0] != '/' || has_nul(path)) return false;
  for (std::size_t at = 1; at <= path.size();) {
    std::size_t end = path.find('/', at);
    if (end == std::string::npos) end = path.size();
    const std::string piece = path.substr(at, end - at);
    if (piece.empty() || piece == "." || piece == "..") return false;
    at = end + 1;
  }
  return true;
}

bool is_at_or_below(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

bool is_control(char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; }

bool is_one_line(std::string_view text) {
  return text.find_first_not_of(' ') != text.npos &&
         std::none_of(text.begin(), text.end(), is_control);
}

bool is_kernels_own(std::string_view path) {
  return path == "/" || is_at_or_below(path, "/proc") || is_at_or_below(path, "/sys") ||
         is_at_or_below(path, "/dev");
}

}  // namespace jail
