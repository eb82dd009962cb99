#include "runtime/living/tree_removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using jail::Fd;

// The owner of a directory may have shut himself out. Opened without a right to read it, the very
// directory is changed, whatever its name leads to by now. The Fd is not valid where it is none.
Fd open_to_empty(int above, const char* name) {
  const Fd node(::openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!node.valid()) return {};
  const std::string by_number = "/proc/self/fd/" + std::to_string(node.get());
  struct stat status {};
  if (::fstat(node.get(), &status) == 0 && (status.st_mode & 0700) != 0700) {
    ::chmod(by_number.c_str(), 0700);
  }
  return Fd(::open(by_number.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

TreeRemoval::State TreeRemoval::step(std::size_t names) {
  left_ = names;
  removed_ = 0;
  const auto listed =
      below::directory_of(Fd(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (listed == nullptr) return State::stuck;
  bool is_empty = true;
  while (const char* name = below::next_name(listed.get())) {
    is_empty = false;
    if (left_ == 0) return State::more;
    --left_;
    const std::string held(name);
    if (::unlinkat(directory_.get(), held.c_str(), 0) == 0 || errno == ENOENT) {
      ++removed_;
    } else if (!empty_out(held.c_str())) {
      return State::more;
    }
  }
  if (is_empty) return State::done;
  return removed_ > 0 ? State::more : State::stuck;
}

// Returns false where this step may look at no more names.
bool TreeRemoval::empty_out(const char* name) {
  Fd fd = open_to_empty(directory_.get(), name);
  if (!fd.valid()) return true;
  const auto listed = below::directory_of(std::move(fd));
  if (listed == nullptr) return true;
  const int directory = ::dirfd(listed.get());
  while (const char* inner = below::next_name(listed.get())) {
    if (left_ == 0) return false;
    --left_;
    const bool is_removed = ::unlinkat(directory, inner, 0) == 0 ||
                            ::unlinkat(directory, inner, AT_REMOVEDIR) == 0 ||
                            move_up(directory, inner);
    if (is_removed) ++removed_;
  }
  if (::unlinkat(directory_.get(), name, AT_REMOVEDIR) == 0) ++removed_;
  return true;
}

// Whoever moves a directory to another one must be able to write to both and to itself.
bool TreeRemoval::move_up(int directory, const char* name) {
  if (!open_to_empty(directory, name).valid()) return false;
  for (;; ++next_name_) {
    const std::string moved = "moved-" + std::to_string(next_name_);
    if (::renameat2(directory, name, directory_.get(), moved.c_str(), RENAME_NOREPLACE) == 0) {
      return true;
    }
    if (errno != EEXIST) return false;
  }
}

}  // namespace runtime
