// What the kernel says about itself in the small files of /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace server {

class HostFiles {
 public:
  // `root`: where /proc and /sys are looked for.
  explicit HostFiles(std::string root = {}) : root_(std::move(root)) {}

  // Nothing where the file does not exist or may not be read.
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::string> first_line(const std::string& path) const;

  // Below /proc/sys.
  std::optional<std::uint64_t> setting(const std::string& name) const;

  // The names in a directory, in order.
  std::vector<std::string> names(const std::string& path) const;

 private:
  const std::string root_;
};

}  // namespace server
