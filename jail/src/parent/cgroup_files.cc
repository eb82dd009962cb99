#include "parent/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace jail {

Error cgroup_error(std::string doing, int error, std::string hint) {
  const bool refused = error == EACCES || error == EPERM || error == EROFS;
  return {refused ? ErrorKind::refused : ErrorKind::kernel, std::move(doing), error,
          std::move(hint)};
}

Fd open_cgroup(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Result<void> write_cgroup_file(int directory, const std::string& name, const std::string& text) {
  const Fd file(::openat(directory, name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  const std::string doing = "write \"" + text + "\" to " + name + " of a cgroup";
  if (!file.valid()) return cgroup_error(doing, errno);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return cgroup_error(doing, errno);
  }
  return {};
}

std::string read_cgroup_file(int directory, const char* name) {
  const Fd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t got;
  while (file.valid() && (got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::uint64_t keyed_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      std::uint64_t value = 0;
      std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
      return value;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return 0;
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || text[at - 1] == ' ';
    const bool ends = end == text.size() || text[end] == ' ' || text[end] == '\n';
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace jail
