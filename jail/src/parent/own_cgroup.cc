#include <algorithm>
#include <vector>

#include "jail/cgroup.h"

namespace jail {
namespace {

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3') {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace

std::optional<std::string> own_cgroup_directory(std::string_view proc_self_cgroup,
                                                std::string_view proc_self_mountinfo) {
  // "0::/user.slice/..." is the v2 hierarchy, whatever v1 ones stand beside it.
  std::optional<std::string> place;
  while (!proc_self_cgroup.empty() && !place) {
    const std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
    if (line.starts_with("0::/")) place = std::string(line.substr(3));
    proc_self_cgroup.remove_prefix(std::min(line.size() + 1, proc_self_cgroup.size()));
  }
  if (!place || place->starts_with("/..") || place->ends_with(" (deleted)")) return std::nullopt;
  while (!proc_self_mountinfo.empty()) {
    const std::string_view line = proc_self_mountinfo.substr(0, proc_self_mountinfo.find('\n'));
    proc_self_mountinfo.remove_prefix(std::min(line.size() + 1, proc_self_mountinfo.size()));
    // ID PARENT MAJOR:MINOR ROOT MOUNT-POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS
    const std::vector<std::string_view> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 6 || dash == words.end() || dash + 1 == words.end() ||
        *(dash + 1) != "cgroup2") {
      continue;
    }
    const std::string root = unescaped(words[3]);
    const std::string mount_point = unescaped(words[4]);
    if (root == "/") return mount_point + (*place == "/" ? "" : *place);
    if (*place == root) return mount_point;
    if (place->starts_with(root + "/")) return mount_point + place->substr(root.size());
  }
  return std::nullopt;
}

}  // namespace jail
