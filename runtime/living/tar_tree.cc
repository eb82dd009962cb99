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
  while (out.size() < enough) {
    if (file_.valid()) {
      if (auto copied = copy_some(out, enough - out.size()); !copied) return copied.error();
      continue;
    }
    auto entry = walk_.next();
    if (!entry) return entry.error();
    if (!*entry) {
      out.append(2 * tar::block_bytes, '\0');
      return false;
    }
    if (auto added = add(std::move(**entry), out); !added) return added.error();
  }
  return true;
}

Result<void> TarTree::add(FileEntry entry, std::string& out) {
  switch (entry.type) {
    case FileEntry::Type::file:
      return add_file(entry.path, out);
    case FileEntry::Type::directory:
      entry.path += '/';
      tar::append_header(out, header_of(entry, '5', 0));
      return {};
    case FileEntry::Type::link:
      tar::append_header(out, header_of(entry, '2', 0));
      return {};
    case FileEntry::Type::other:
      break;
  }
  return {};
}

Result<void> TarTree::add_file(const std::string& path, std::string& out) {
  auto file = walk_.open_file();
  if (!file) return file.error();
  if (!file->valid()) return {};
  const auto entry = below::entry_at(file->get(), "", path);
  if (!entry) return not_read(path, errno);
  tar::append_header(out, header_of(*entry, '0', entry->size));
  left_ = entry->size;
  padding_ = tar::padding_of(entry->size);
  if (left_ == 0) return {};
  file_ = std::move(*file);
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
  // Where the file has become shorter, zeros stand for the rest.
  const std::size_t taken = got == 0 ? wanted : static_cast<std::size_t>(std::max<ssize_t>(0, got));
  out.resize(had + taken);
  left_ -= taken;
  if (left_ > 0) return {};
  out.append(padding_, '\0');
  file_ = Fd();
  return {};
}

}  // namespace runtime
