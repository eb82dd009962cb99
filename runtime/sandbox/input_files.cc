#include "runtime/sandbox/input_files.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "runtime/json/writer.h"

namespace runtime {
namespace {

constexpr std::size_t max_path_bytes = 512;
constexpr std::size_t max_components = 16;
constexpr std::size_t max_component_bytes = 255;  // NAME_MAX

std::optional<std::string> path_complaint(std::string_view path) {
  if (path.empty() || path.size() > max_path_bytes || path.find('\0') != path.npos) {
    return "expected a relative path of 1 .. 512 bytes without NUL";
  }
  if (path.front() == '/') return "expected a relative path";
  std::size_t components = 0;
  for (std::string_view rest = path;; ++components) {
    const std::size_t slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == "..") {
      return "expected a path without empty components, . and ..";
    }
    if (component.size() > max_component_bytes) return "expected components of at most 255 bytes";
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (components >= max_components) return "expected at most 16 components";
  return std::nullopt;
}

// The first of the directories above `path`, or `path` itself, that is in `files`.
std::optional<std::string_view> file_on_the_way(std::string_view path,
                                                const std::set<std::string_view>& files) {
  for (std::size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    if (files.contains(path.substr(0, end))) return path.substr(0, end);
  }
  if (files.contains(path)) return path;
  return std::nullopt;
}

}  // namespace

jail::Result<void> check_input_files(const std::vector<InputFile>& files, std::string_view own_name,
                                     const InputFileLimits& limits) {
  if (files.size() > limits.files) {
    return jail::invalid("expected at most " + std::to_string(limits.files) + " files");
  }
  std::size_t total = 0;
  std::set<std::string_view> paths = {own_name};
  for (const InputFile& file : files) {
    const std::string name = json::quoted(file.path);
    if (const auto complaint = path_complaint(file.path))
      return jail::invalid(name + ": " + *complaint);
    if (!paths.insert(file.path).second) {
      const bool own = file.path == own_name;
      return jail::invalid(name + (own ? ": the program itself has this name" : ": given twice"));
    }
    total += file.content.size();
  }
  for (const InputFile& file : files) {
    const std::size_t slash = file.path.rfind('/');
    if (slash == file.path.npos) continue;
    const std::string_view above = std::string_view(file.path).substr(0, slash);
    if (const auto other = file_on_the_way(above, paths)) {
      return jail::invalid(json::quoted(file.path) + ": needs a directory where " +
                           json::quoted(*other) + " is a file");
    }
  }
  if (total > limits.total_bytes) {
    return jail::invalid("expected at most " + std::to_string(limits.total_bytes) +
                         " bytes of files together");
  }
  return {};
}

}  // namespace runtime
