#include "runtime/living/tar_unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;
using tar::Header;
using Names = std::vector<std::string>;

// Long names, link targets and extended headers are held in memory, so they are bounded.
constexpr std::uint64_t max_text_bytes = 64u << 10;
constexpr std::size_t max_path_bytes = 4096;
constexpr std::size_t quoted_path_bytes = 200;

Error wrong(const std::string& name, const std::string& why) {
  return jail::invalid("body: " + name.substr(0, quoted_path_bytes) + ": " + why);
}

Error not_made(const std::string& name, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return {is_full ? ErrorKind::exhausted : ErrorKind::kernel,
          "write " + name.substr(0, quoted_path_bytes),
          error,
          {}};
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (!part.empty() && part != ".") parts.push_back(part);
  }
  return parts;
}

// The names of a path's components within the directory; none for the directory itself.
Result<Names> names_of(const std::string& path) {
  const bool is_text = path.size() <= max_path_bytes && path.find('\0') == path.npos;
  if (!is_text || path.starts_with('/')) return wrong(path, "expected a relative path");
  Names names;
  for (const auto part : parts_of(path)) {
    if (part == "..") return wrong(path, "expected a path without ..");
    names.emplace_back(part);
  }
  return names;
}

bool stays_within(const std::string& target, std::size_t depth) {
  if (target.empty() || target.size() > max_path_bytes || target.starts_with('/')) return false;
  if (target.find('\0') != target.npos) return false;
  for (const auto part : parts_of(target)) {
    if (part != "..") {
      ++depth;
    } else if (depth-- == 0) {
      return false;
    }
  }
  return true;
}

std::string path_of_parent(const Names& names) {
  std::string path;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) path += (i > 0 ? "/" : "") + names[i];
  return path;
}

// Calls `make` for a name, after removing a file or link that has it. Returns the errno, or 0.
template <class Make>
int make_in_place(int directory, const char* name, Make make) {
  if (make() == 0) return 0;
  if (errno != EEXIST) return errno;
  if (::unlinkat(directory, name, 0) != 0) return errno;
  return make() == 0 ? 0 : errno;
}

}  // namespace

Result<void> TarUnpack::write(std::string_view bytes) {
  while (!bytes.empty() && !is_over_) {
    if (left_ > 0) {
      const std::string_view part = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      bytes.remove_prefix(part.size());
      left_ -= part.size();
      if (content_ == Content::text) text_ += part;
      if (content_ == Content::file) {
        if (auto written = file_->write(part); !written) return written;
      }
      if (left_ > 0) return {};
      if (auto ended = end_content(); !ended) return ended;
    } else if (padding_ > 0) {
      const auto skipped = std::min<std::uint64_t>(padding_, bytes.size());
      bytes.remove_prefix(skipped);
      padding_ -= skipped;
    } else {
      const std::size_t count = std::min(block_.size() - filled_, bytes.size());
      std::copy_n(bytes.begin(), count, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
      bytes.remove_prefix(count);
      filled_ += count;
      if (filled_ < block_.size()) return {};
      filled_ = 0;
      if (auto taken = take_header(); !taken) return taken;
    }
  }
  return {};
}

Result<void> TarUnpack::finish() const {
  if (is_over_) return {};
  return jail::invalid("body: the archive has no end: it is cut, or no tar archive");
}

Result<void> TarUnpack::take_header() {
  auto read = tar::read_header(block_);
  if (!read) return read.error();
  if (!*read) {
    is_over_ = true;
    return {};
  }
  Header header = std::move(**read);
  const char type = header.type;
  const bool is_text = type == 'L' || type == 'K' || type == 'x' || type == 'g';
  if (!is_text && beforehand_.size) header.size = *beforehand_.size;
  left_ = header.size;
  padding_ = tar::padding_of(header.size);
  content_ = Content::none;
  if (is_text) {
    if (header.size > max_text_bytes) return wrong(header.name, "a header is too long");
    content_ = Content::text;
    text_type_ = type;
  } else if (auto begun = begin_entry(std::move(header)); !begun) {
    return begun;
  }
  return left_ == 0 ? end_content() : Result<void>();
}

Result<void> TarUnpack::end_content() {
  const Content ended = std::exchange(content_, Content::none);
  if (ended == Content::text) return take_text(text_type_);
  if (ended != Content::file) return {};
  const auto committed = std::exchange(file_, std::nullopt)->commit();
  if (!committed) return committed.error();
  return {};
}

Result<void> TarUnpack::take_text(char type) {
  const std::string text = std::exchange(text_, {});
  if (type == 'x') return take_pax(text);
  if (type == 'L') beforehand_.name = text.substr(0, text.find('\0'));
  if (type == 'K') beforehand_.link = text.substr(0, text.find('\0'));
  return {};  // 'g' applies to all entries, and says nothing that matters here
}

// Each record is its own length in decimal digits, a blank, a key, =, the value, and a line feed.
Result<void> TarUnpack::take_pax(std::string_view records) {
  while (!records.empty()) {
    std::size_t size = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), size);
    const auto digits = static_cast<std::size_t>(end - records.data());
    const bool is_record = error == std::errc() && size > digits + 1 && size <= records.size() &&
                           records[digits] == ' ' && records[size - 1] == '\n';
    if (!is_record) return jail::invalid("body: an extended header of the archive is broken");
    const std::string_view record = records.substr(digits + 1, size - digits - 2);
    records.remove_prefix(size);
    const std::size_t sign = std::min(record.find('='), record.size());
    const std::string_view value = record.substr(std::min(sign + 1, record.size()));
    if (auto taken = take_pax_record(record.substr(0, sign), value); !taken) return taken;
  }
  return {};
}

Result<void> TarUnpack::take_pax_record(std::string_view key, std::string_view value) {
  const char* const end = value.data() + value.size();
  if (key == "path") beforehand_.name = value;
  if (key == "linkpath") beforehand_.link = value;
  if (key == "size") {
    std::int64_t size = -1;
    const auto [stop, error] = std::from_chars(value.data(), end, size);
    if (error != std::errc() || stop != end || size < 0) {
      return jail::invalid("body: an extended header has a size that is none");
    }
    beforehand_.size = static_cast<std::uint64_t>(size);
  }
  if (key == "mtime") {
    std::int64_t seconds = 0;
    std::from_chars(value.data(), end, seconds);
    beforehand_.modified = seconds;
  }
  if (key.starts_with("GNU.sparse.")) {
    return jail::invalid("body: expected an archive without sparse files");
  }
  return {};
}

Result<void> TarUnpack::begin_entry(Header header) {
  const Beforehand said = std::exchange(beforehand_, {});
  if (said.name) header.name = *said.name;
  if (said.link) header.link = *said.link;
  if (said.modified) header.modified = *said.modified;
  if (++entries_ > max_entries) {
    return wrong(header.name, "expected at most " + std::to_string(max_entries) + " entries");
  }
  auto names = names_of(header.name);
  if (!names) return names.error();
  switch (header.type) {
    case '0':
      return make_file(header, std::move(*names));
    case '1':
      return make_hard_link(header, *names);
    case '2':
      return make_link(header, *names);
    case '5':
      return make_directory(header, *names);
    default:
      return wrong(header.name, "expected files, directories and links; it is none of these");
  }
}

Result<int> TarUnpack::parent_of(const Names& names) {
  if (names.size() <= 1) return root_.get();
  std::string path = path_of_parent(names);
  if (parent_.valid() && path == parent_name_) return parent_.get();
  Fd found = below::open_directory(root_.get(), path.c_str());
  if (!found.valid() && errno == ENOENT) {
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
      const int above = found.valid() ? found.get() : root_.get();
      const bool is_made = ::mkdirat(above, names[i].c_str(), 0755) == 0;
      if (!is_made && errno != EEXIST) return not_made(path, errno);
      Fd next = below::open_directory(above, names[i].c_str());
      if (!next.valid()) return not_made(path, errno);
      // This process's umask must not apply to a guest's directory.
      if (is_made) ::fchmod(next.get(), 0755);
      found = std::move(next);
    }
  }
  if (!found.valid()) return not_made(path, errno == ELOOP ? ENOTDIR : errno);
  parent_ = std::move(found);
  parent_name_ = std::move(path);
  return parent_.get();
}

Result<void> TarUnpack::make_file(const Header& header, Names names) {
  if (names.empty()) return wrong(header.name, "a file has a name");
  const auto parent = parent_of(names);
  if (!parent) return parent.error();
  Fd directory(::fcntl(*parent, F_DUPFD_CLOEXEC, 0));
  if (!directory.valid()) return not_made(header.name, errno);
  auto file = SandboxFiles::NewFile::in(std::move(directory), std::move(names.back()), header.name,
                                        static_cast<mode_t>(header.mode), room_);
  if (!file) return file.error();
  file->set_modified(header.modified);
  file_.emplace(std::move(*file));
  content_ = Content::file;
  return {};
}

Result<void> TarUnpack::make_directory(const Header& header, const Names& names) {
  if (names.empty()) return {};
  const auto parent = parent_of(names);
  if (!parent) return parent.error();
  const char* const name = names.back().c_str();
  if (::mkdirat(*parent, name, 0755) != 0 && errno != EEXIST) {
    return not_made(header.name, errno);
  }
  const Fd made = below::open_directory(*parent, name);
  if (!made.valid()) return not_made(header.name, errno == ELOOP ? ENOTDIR : errno);
  // Later entries are made in it, so its owner may write to it.
  ::fchmod(made.get(), static_cast<mode_t>(header.mode | 0700u));
  return {};
}

Result<void> TarUnpack::make_link(const Header& header, const Names& names) {
  if (names.empty()) return wrong(header.name, "a link has a name");
  if (!stays_within(header.link, names.size() - 1)) {
    return wrong(header.name, "expected links that lead to what is in the directory");
  }
  const auto parent = parent_of(names);
  if (!parent) return parent.error();
  const char* const name = names.back().c_str();
  const int error =
      make_in_place(*parent, name, [&] { return ::symlinkat(header.link.c_str(), *parent, name); });
  if (error != 0) return not_made(header.name, error);
  return {};
}

Result<void> TarUnpack::make_hard_link(const Header& header, const Names& names) {
  if (names.empty()) return wrong(header.name, "a link has a name");
  const auto target = names_of(header.link);
  if (!target) return target.error();
  if (target->empty()) return wrong(header.name, "expected a link to a file");
  if (*target == names) return {};
  const std::string above = path_of_parent(*target);
  const Fd from = below::open_directory(root_.get(), above.empty() ? "." : above.c_str());
  struct stat status {};
  const char* const other = target->back().c_str();
  if (!from.valid() || ::fstatat(from.get(), other, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return not_made(header.name, errno == ELOOP ? ENOTDIR : errno);
  }
  if (!S_ISREG(status.st_mode)) return wrong(header.name, "expected a link to a file");
  const auto parent = parent_of(names);
  if (!parent) return parent.error();
  const char* const name = names.back().c_str();
  const int error =
      make_in_place(*parent, name, [&] { return ::linkat(from.get(), other, *parent, name, 0); });
  if (error != 0) return not_made(header.name, error);
  return {};
}

}  // namespace runtime
