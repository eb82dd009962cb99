#include "parent/small_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "plan/path_rules.h"

namespace jail {
namespace {

constexpr std::size_t max_bytes = 1u << 20;
constexpr std::size_t max_entries = 2000;
// The mode that a copy has, write bits aside.
constexpr mode_t copied_mode = 0444;

struct CloseStream {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Reads a directory tree into the files and links of a root.
class Copy {
 public:
  // False: it cannot be copied as it is.
  bool directory(Fd opened, const std::string& target) {
    const int fd = opened.get();
    const std::unique_ptr<DIR, CloseStream> list(::fdopendir(opened.release()));
    if (list == nullptr) return false;
    const std::size_t before = entries_;
    while (const dirent* entry = ::readdir(list.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (++entries_ > max_entries) return false;
      if (!node(fd, entry->d_name, target + "/" + entry->d_name)) return false;
    }
    return entries_ > before;
  }

  void append_to(Root& root) && {
    std::move(files_.begin(), files_.end(), std::back_inserter(root.files));
    std::move(links_.begin(), links_.end(), std::back_inserter(root.links));
  }

 private:
  bool node(int parent, const char* name, const std::string& target) {
    struct stat status {};
    if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISLNK(status.st_mode)) return link(parent, name, target);
    if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return false;
    const int kind = S_ISDIR(status.st_mode) ? O_DIRECTORY : 0;
    Fd opened(::openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | kind));
    if (!opened.valid()) return false;
    if (kind == O_DIRECTORY) {
      return (status.st_mode & copied_mode) == copied_mode && directory(std::move(opened), target);
    }
    std::optional<TextFile> file = small_file(opened, target);
    if (!file) return false;
    bytes_ += file->text.size();
    files_.push_back(std::move(*file));
    return bytes_ <= max_bytes;
  }

  bool link(int parent, const char* name, const std::string& target) {
    char text[4096];
    const ssize_t size = ::readlinkat(parent, name, text, sizeof text);
    if (size <= 0) return false;
    links_.push_back({target, std::string(text, static_cast<std::size_t>(size))});
    return true;
  }

  std::vector<TextFile> files_;
  std::vector<Link> links_;
  std::size_t entries_ = 0;
  std::size_t bytes_ = 0;
};

bool copy_directory(const ReadOnlyBind& bind, Root& root) {
  Copy copy;
  Fd opened(::open(bind.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || !copy.directory(std::move(opened), bind.target)) return false;
  std::move(copy).append_to(root);
  return true;
}

}  // namespace

std::optional<TextFile> small_file(const Fd& file, const std::string& target) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  constexpr mode_t executable = 0111;
  if ((status.st_mode & copied_mode) != copied_mode || (status.st_mode & executable) != 0) {
    return std::nullopt;
  }
  const auto said = static_cast<std::size_t>(status.st_size);
  if (said > max_bytes) return std::nullopt;
  // One byte more than there should be shows that there is more: the file may grow, and a file of
  // the kernel says that it is empty.
  std::string text(said + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t got =
        ::pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > max_bytes) return std::nullopt;
    if (size == text.size()) text.resize(std::min(2 * size + 4096, max_bytes + 1));
  }
  text.resize(size);
  return TextFile{target, std::move(text), status.st_mtim};
}

Root with_small_directories_copied(Root root) {
  std::vector<ReadOnlyBind> binds;
  binds.swap(root.binds);
  for (ReadOnlyBind& bind : binds) {
    const bool is_whole =
        std::none_of(root.hidden.begin(), root.hidden.end(),
                     [&](const std::string& path) { return is_at_or_below(path, bind.target); });
    const bool copied = bind.kind == NodeKind::directory && is_whole && copy_directory(bind, root);
    if (!copied) root.binds.push_back(std::move(bind));
  }
  return root;
}

}  // namespace jail
