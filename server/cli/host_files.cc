#include "server/cli/host_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "runtime/config/text_file.h"

namespace server {

std::optional<std::string> HostFiles::text(const std::string& path) const {
  auto text = runtime::read_text_file(root_ + path, 64u << 10);
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::optional<std::string> HostFiles::first_line(const std::string& path) const {
  const auto all = text(path);
  if (!all) return std::nullopt;
  return all->substr(0, all->find('\n'));
}

std::optional<std::uint64_t> HostFiles::setting(const std::string& name) const {
  const auto line = first_line("/proc/sys/" + name);
  if (!line) return std::nullopt;
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(line->data(), line->data() + line->size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::vector<std::string> HostFiles::names(const std::string& path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root_ + path, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace server
