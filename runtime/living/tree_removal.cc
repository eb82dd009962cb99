#include "runtime/living/tree_removal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using jail::Fd;

// Whoever moves a directory to another one must be able to write to both and to itself.
constexpr mode_t rights_to_empty = 0700;

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
  Fd fd = below::open_shut_directory(directory_.get(), name, rights_to_empty);
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

bool TreeRemoval::move_up(int directory, const char* name) {
  if (!below::open_shut_directory(directory, name, rights_to_empty).valid()) return false;
  for (;; ++next_name_) {
    const std::string moved = "moved-" + std::to_string(next_name_);
    if (::renameat2(directory, name, directory_.get(), moved.c_str(), RENAME_NOREPLACE) == 0) {
      return true;
    }
    if (errno != EEXIST) return false;
  }
}

}  // namespace runtime
