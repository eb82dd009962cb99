#include "runtime/living/tree_walk.h"

#include <errno.h>

#include <algorithm>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// Returns whether something else has the name by now, or nothing has.
bool is_gone(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV || error == EINVAL;
}

}  // namespace

Result<std::optional<FileEntry>> TreeWalk::next() {
  for (;;) {
    if (to_enter_) {
      auto entered = enter(std::move(*std::exchange(to_enter_, std::nullopt)));
      if (!entered) return entered.error();
    }
    if (levels_.empty()) return std::optional<FileEntry>();
    Level& level = levels_.back();
    if (level.next == level.names.size()) {
      leave();
      continue;
    }
    name_ = std::move(level.names[level.next++]);
    path_ = level.path.empty() ? name_ : below::joined(level.path, name_);
    if (!directory_.valid()) continue;
    auto entry = below::entry_at(directory_.get(), name_.c_str(), path_);
    if (!entry) continue;
    if (entry->type == FileEntry::Type::directory) to_enter_ = path_;
    return entry;
  }
}

Result<Fd> TreeWalk::open_file() const {
  Fd file = below::open_file(directory_.get(), name_.c_str());
  if (!file.valid() && !is_gone(errno)) {
    return Error{ErrorKind::kernel, "read " + path_, errno, {}};
  }
  return file;
}

Result<void> TreeWalk::enter(std::string path) {
  const char* const name = path.empty() ? "." : path.c_str();
  Fd directory = below::open_directory(root_.get(), name);
  Fd listed = directory.valid() ? below::open_directory(directory.get(), ".") : Fd();
  if (!listed.valid() && !path.empty() && is_gone(errno)) return {};
  const auto names = listed.valid() ? below::directory_of(std::move(listed)) : nullptr;
  if (names == nullptr) return Error{ErrorKind::kernel, "read " + path, errno, {}};
  Level level{.path = std::move(path), .names = {}};
  while (const char* each = below::next_name(names.get())) {
    if (++entries_ > max_entries) {
      return Error{ErrorKind::exhausted, "the directory has too many files for this", 0, {}};
    }
    level.names.emplace_back(each);
  }
  std::sort(level.names.begin(), level.names.end());
  levels_.push_back(std::move(level));
  directory_ = std::move(directory);
  return {};
}

void TreeWalk::leave() {
  levels_.pop_back();
  if (levels_.empty()) return;
  // The directory may be another one by now, or may be gone.
  const std::string& above = levels_.back().path;
  directory_ = below::open_directory(root_.get(), above.empty() ? "." : above.c_str());
}

}  // namespace runtime
