#include "runtime/living/tar_tree.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/living/below.h"
#include "runtime/living/tar_header.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

constexpr std::uint64_t copied_bytes = 64u << 10;

Error not_read(const std::string& path, int error) {
  return {ErrorKind::kernel, "read " + path, error, {}};
}

std::string within(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : below::joined(directory, name);
}

tar::Header header_of(const FileEntry& entry, char type, std::uint64_t size) {
  const auto modified = entry.modified.time_since_epoch();
  return {.name = entry.path,
          .type = type,
          .mode = static_cast<std::uint32_t>(entry.mode & 0777),
          .size = size,
          .modified = std::chrono::floor<std::chrono::seconds>(modified).count(),
          .link = entry.target};
}

}  // namespace

Result<bool> TarTree::read(std::string& out, std::size_t bytes) {
  const std::size_t enough = out.size() + bytes;
  if (!is_begun_) {
    is_begun_ = true;
    if (auto entered = enter({}); !entered) return entered.error();
  }
  while (out.size() < enough) {
    if (file_.valid()) {
      if (auto copied = copy_some(out, enough - out.size()); !copied) return copied.error();
      continue;
    }
    if (levels_.empty()) {
      out.append(2 * tar::block_bytes, '\0');
      return false;
    }
    Level& level = levels_.back();
    if (level.next < level.names.size()) {
      const std::string name = std::move(level.names[level.next++]);
      const std::string path = level.path;
      if (auto added = add(path, name, out); !added) return added.error();
      continue;
    }
    levels_.pop_back();
    if (levels_.empty()) continue;
    // It may be another one by now, or none.
    const std::string& above = levels_.back().path;
    directory_ = below::open_directory(root_.get(), above.empty() ? "." : above.c_str());
  }
  return true;
}

Result<void> TarTree::enter(std::string path) {
  Fd directory = below::open_directory(root_.get(), path.empty() ? "." : path.c_str());
  if (!directory.valid()) {
    const bool is_gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV;
    return is_gone ? Result<void>() : not_read(path, errno);
  }
  Fd listed = below::open_directory(directory.get(), ".");
  const auto names = listed.valid() ? below::directory_of(std::move(listed)) : nullptr;
  if (names == nullptr) return not_read(path, errno);
  Level level{.path = std::move(path), .names = {}};
  while (const char* name = below::next_name(names.get())) {
    if (++entries_ > max_entries) {
      return Error{ErrorKind::exhausted, "the directory has too many files for an archive", 0, {}};
    }
    level.names.emplace_back(name);
  }
  std::sort(level.names.begin(), level.names.end());
  levels_.push_back(std::move(level));
  directory_ = std::move(directory);
  return {};
}

Result<void> TarTree::add(const std::string& path, const std::string& name, std::string& out) {
  if (!directory_.valid()) return {};
  auto entry = below::entry_at(directory_.get(), name.c_str(), within(path, name));
  if (!entry) return {};  // it was removed meanwhile
  switch (entry->type) {
    case FileEntry::Type::file:
      return add_file(entry->path, name, out);
    case FileEntry::Type::directory: {
      auto header = header_of(*entry, '5', 0);
      header.name += '/';
      tar::append_header(out, header);
      return enter(std::move(entry->path));
    }
    case FileEntry::Type::link:
      tar::append_header(out, header_of(*entry, '2', 0));
      return {};
    case FileEntry::Type::other:
      break;
  }
  return {};
}

Result<void> TarTree::add_file(const std::string& path, const std::string& name, std::string& out) {
  Fd file = below::open_file(directory_.get(), name.c_str());
  if (!file.valid()) {
    // Something else has its name by now, or nothing.
    const bool is_gone = errno == ENOENT || errno == EINVAL || errno == ELOOP || errno == EXDEV;
    return is_gone ? Result<void>() : not_read(path, errno);
  }
  const auto entry = below::entry_at(file.get(), "", path);
  if (!entry) return not_read(path, errno);
  tar::append_header(out, header_of(*entry, '0', entry->size));
  left_ = entry->size;
  padding_ = tar::padding_of(entry->size);
  if (left_ == 0) return {};
  file_ = std::move(file);
  file_path_ = path;
  return {};
}

Result<void> TarTree::copy_some(std::string& out, std::size_t bytes) {
  const auto wanted =
      static_cast<std::size_t>(std::min({left_, copied_bytes, std::uint64_t{bytes}}));
  const std::size_t had = out.size();
  out.resize(had + wanted);
  const ssize_t got = ::read(file_.get(), out.data() + had, wanted);
  if (got < 0 && errno != EINTR) return not_read(file_path_, errno);
  // Where it has become shorter, zeros stand for the rest.
  const std::size_t taken = got == 0 ? wanted : static_cast<std::size_t>(std::max<ssize_t>(0, got));
  out.resize(had + taken);
  left_ -= taken;
  if (left_ > 0) return {};
  out.append(padding_, '\0');
  file_ = Fd();
  return {};
}

}  // namespace runtime
