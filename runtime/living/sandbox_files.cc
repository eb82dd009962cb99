#include "runtime/living/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "runtime/living/below.h"

namespace runtime {
namespace {

using below::Directory;
using below::directory_of;
using below::entry_at;
using below::joined;
using below::next_name;
using below::normal;
using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// The kernel takes no path with more names than this.
constexpr int max_names = 2048;
// A list is truncated before its JSON would become larger than this.
constexpr std::size_t max_list_bytes = 3u << 20;
// The number of files that a disk of a sandbox may have.
constexpr std::size_t max_removed = 65'536;

Error failed(std::string_view doing, std::string_view path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return {is_full ? ErrorKind::exhausted : ErrorKind::kernel,
          std::string(doing) + " " + std::string(path),
          error,
          {}};
}

// The most that an entry takes in a list as JSON: its path, its last name again, a link's target.
std::size_t json_bytes(const FileEntry& entry) {
  const auto escaped = [](std::string_view text) {
    std::size_t bytes = 0;
    for (const char c : text) bytes += c >= ' ' && c != '"' && c != '\\' && c < 127 ? 1 : 6;
    return bytes;
  };
  constexpr std::size_t all_else = 160;
  return 2 * escaped(entry.path) + escaped(entry.target) + all_else;
}

// `room` is the number of bytes of JSON that may still be added.
void list_into(FileList& list, DIR* directory, const std::string& path, int depth,
               std::size_t& room) {
  while (const char* name = next_name(directory)) {
    auto entry = entry_at(::dirfd(directory), name, joined(path, name));
    if (!entry) continue;  // it was removed meanwhile
    const std::size_t bytes = json_bytes(*entry);
    if (list.entries.size() == SandboxFiles::max_entries || bytes > room) {
      list.is_truncated = true;
      return;
    }
    room -= bytes;
    list.entries.push_back(*entry);
    if (depth <= 1 || entry->type != FileEntry::Type::directory) continue;
    Fd fd = below::open_directory(::dirfd(directory), name);
    if (!fd.valid()) continue;
    const Directory inner = directory_of(std::move(fd));
    if (inner != nullptr) list_into(list, inner.get(), entry->path, depth - 1, room);
  }
}

// Returns the errno, or 0. `room` is the number of names that may still be removed, since a guest
// may make new ones all the while.
int remove_at(int directory, const char* name, int depth, std::size_t& room);

int remove_all_in(DIR* directory, int depth, std::size_t& room) {
  // Removing names while a directory is read may make the kernel skip others, so the directory is
  // read again until nothing is found.
  for (bool found = true; found;) {
    found = false;
    while (const char* name = next_name(directory)) {
      found = true;
      const int error = remove_at(::dirfd(directory), name, depth, room);
      if (error != 0 && error != ENOENT) return error;
    }
    ::rewinddir(directory);
  }
  return 0;
}

int remove_at(int directory, const char* name, int depth, std::size_t& room) {
  if (room == 0) return ENOTEMPTY;
  --room;
  if (::unlinkat(directory, name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  if (::unlinkat(directory, name, AT_REMOVEDIR) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return errno;
  if (depth == 0) return ELOOP;
  const std::string held(name);
  Fd fd = below::open_directory(directory, held.c_str());
  if (!fd.valid()) return errno;
  const Directory inner = directory_of(std::move(fd));
  if (inner == nullptr) return errno;
  if (const int error = remove_all_in(inner.get(), depth - 1, room)) return error;
  return ::unlinkat(directory, held.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

// Returns the errno, or 0.
int name_file(int file, int directory, const std::string& name) {
  const std::string by_number = "/proc/self/fd/" + std::to_string(file);
  const int done =
      ::linkat(AT_FDCWD, by_number.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW);
  return done == 0 ? 0 : errno;
}

std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) < 0) return ".agent-sandbox-upload";
  std::string name = ".agent-sandbox-";
  constexpr std::string_view digits = "0123456789abcdef";
  for (const unsigned char byte : bytes) {
    name += digits[byte >> 4];
    name += digits[byte & 15];
  }
  return name;
}

}  // namespace

// A name and the directory that it is in.
struct SandboxFiles::Place {
  Fd directory;
  std::string name;
};

Result<SandboxFiles::Place> SandboxFiles::place_of(std::string_view path) const {
  const std::string plain = normal(path);
  const std::size_t slash = plain.rfind('/');
  if (slash == plain.npos) return jail::invalid("path: expected an absolute one");
  const std::string name(plain.substr(slash + 1));
  if (name.empty() || name == "." || name == "..") {
    return jail::invalid("path: expected one that ends in a name");
  }
  auto directory = open_(slash == 0 ? "/" : plain.substr(0, slash), O_RDONLY | O_DIRECTORY, 0);
  if (!directory) return directory.error();
  return Place{std::move(*directory), name};
}

Result<FileEntry> SandboxFiles::stat(std::string_view path) const {
  const std::string plain = normal(path);
  if (plain == "/") {
    const auto root = open_("/", O_RDONLY | O_DIRECTORY, 0);
    if (!root) return root.error();
    auto entry = entry_at(root->get(), "", "/");
    if (!entry) return failed("look at", path, errno);
    return *entry;
  }
  const auto place = place_of(path);
  if (!place) return place.error();
  auto entry = entry_at(place->directory.get(), place->name.c_str(), plain);
  if (!entry) return failed("look at", path, errno);
  return *entry;
}

Result<FileList> SandboxFiles::list(std::string_view path, int depth) const {
  const std::string plain = normal(path);
  auto fd = open_directory(plain);
  if (!fd) return fd.error();
  const Directory directory = directory_of(std::move(*fd));
  if (directory == nullptr) return failed("list", path, errno);
  FileList list;
  std::size_t room = max_list_bytes;
  list_into(list, directory.get(), plain, std::min(depth, max_depth), room);
  std::sort(list.entries.begin(), list.entries.end(),
            [](const FileEntry& a, const FileEntry& b) { return a.path < b.path; });
  return list;
}

Result<Fd> SandboxFiles::open_to_read(std::string_view path) const {
  auto file = open_(normal(path), O_RDONLY, 0);
  if (!file) return file;
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return failed("look at", path, errno);
  if (S_ISDIR(status.st_mode)) return failed("read", path, EISDIR);
  return file;
}

Result<Fd> SandboxFiles::open_directory(std::string_view path) const {
  return open_(normal(path), O_RDONLY | O_DIRECTORY, 0);
}

Result<bool> SandboxFiles::make_directory(std::string_view path) const {
  const std::string plain = normal(path);
  if (const auto there = open_(plain, O_PATH | O_DIRECTORY, 0)) return false;
  if (auto made = make_directories(plain, 0); !made) return made.error();
  return true;
}

Result<void> SandboxFiles::make_directories(const std::string& path, int depth) const {
  if (depth > max_names) return failed("make", path, ENAMETOOLONG);
  const std::size_t slash = path.rfind('/');
  auto place = place_of(path);
  if (!place && place.error().sys_errno == ENOENT && slash != 0 && slash != path.npos) {
    const std::string above = path.substr(0, slash);
    if (auto made = make_directories(above, depth + 1); !made) return made;
    place = place_of(path);
  }
  if (!place) return place.error();
  if (::mkdirat(place->directory.get(), place->name.c_str(), 0755) == 0) {
    // This process's umask must not apply to a guest's file.
    const Fd made = below::open_directory(place->directory.get(), place->name.c_str());
    if (made.valid()) ::fchmod(made.get(), 0755);
    return {};
  }
  const int error = errno;
  // Another process may have made it meanwhile.
  if (error == EEXIST && open_(path, O_PATH | O_DIRECTORY, 0)) return {};
  return failed("make", path, error);
}

Result<void> SandboxFiles::remove(std::string_view path, bool recursive) const {
  const auto place = place_of(path);
  if (!place) return place.error();
  const int directory = place->directory.get();
  const char* const name = place->name.c_str();
  int error = 0;
  if (recursive) {
    std::size_t room = max_removed;
    error = remove_at(directory, name, max_depth, room);
  } else if (::unlinkat(directory, name, 0) != 0) {
    error = errno;
    if (error == EISDIR || error == EPERM) {
      error = ::unlinkat(directory, name, AT_REMOVEDIR) == 0 ? 0 : errno;
    }
  }
  if (error != 0) return failed("remove", path, error);
  return {};
}

Result<void> SandboxFiles::move(std::string_view from, std::string_view to) const {
  const auto source = place_of(from);
  if (!source) return source.error();
  const auto target = place_of(to);
  if (!target) return target.error();
  struct stat there {};
  const bool is_directory =
      ::fstatat(target->directory.get(), target->name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISDIR(there.st_mode);
  if (is_directory) return failed("move to", to, EEXIST);
  if (::renameat(source->directory.get(), source->name.c_str(), target->directory.get(),
                 target->name.c_str()) != 0) {
    return failed("move", from, errno);
  }
  return {};
}

Result<SandboxFiles::NewFile> SandboxFiles::create(std::string_view path,
                                                   std::optional<mode_t> mode) const {
  auto place = place_of(path);
  if (!place && place.error().sys_errno == ENOENT) {
    const std::string plain = normal(path);
    const auto made = make_directories(plain.substr(0, plain.rfind('/')), 0);
    if (!made) return made.error();
    place = place_of(path);
  }
  if (!place) return place.error();
  return NewFile::in(std::move(place->directory), std::move(place->name), std::string(path), mode,
                     room_);
}

Result<SandboxFiles::NewFile> SandboxFiles::NewFile::in(Fd directory, std::string name,
                                                        std::string path,
                                                        std::optional<mode_t> mode,
                                                        const Room& room) {
  struct stat there {};
  const bool is_there = ::fstatat(directory.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && S_ISDIR(there.st_mode)) return failed("write", path, EISDIR);
  if (is_there && !mode && S_ISREG(there.st_mode)) mode = there.st_mode & 0777;
  NewFile file;
  file.path_ = std::move(path);
  file.name_ = std::move(name);
  file.directory_ = std::move(directory);
  file.mode_ = mode.value_or(0644);
  if (room) file.reservation_ = room(file.directory_.get());
  file.file_ = Fd(::openat(file.directory_.get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0644));
  if (!file.file_.valid()) return failed("write", file.path_, errno);
  return file;
}

jail::Error SandboxFiles::NewFile::given_up(int error) {
  file_.reset();
  reservation_.reset();
  return failed("write", path_, error);
}

Result<void> SandboxFiles::NewFile::write(std::string_view bytes) {
  if (reservation_ && !reservation_->take(bytes.size())) return given_up(EDQUOT);
  while (!bytes.empty()) {
    const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      return given_up(errno);
    }
  }
  return {};
}

Result<bool> SandboxFiles::NewFile::commit() {
  // This process's umask must not apply to a guest's file.
  if (::fchmod(file_.get(), mode_) != 0) return failed("set the mode of", path_, errno);
  if (modified_) {
    const timespec time{.tv_sec = *modified_, .tv_nsec = 0};
    const timespec times[] = {time, time};
    // A time that the file system cannot store is left as it is.
    (void)::futimens(file_.get(), times);
  }
  int error = name_file(file_.get(), directory_.get(), name_);
  if (error == 0) {
    if (reservation_) reservation_->note_name();
    return true;
  }
  if (error != EEXIST) return failed("write", path_, error);
  const std::string working_name = random_name();
  error = name_file(file_.get(), directory_.get(), working_name);
  if (error != 0) return failed("write", path_, error);
  if (::renameat(directory_.get(), working_name.c_str(), directory_.get(), name_.c_str()) != 0) {
    error = errno;
    ::unlinkat(directory_.get(), working_name.c_str(), 0);
    return failed("write", path_, error);
  }
  if (reservation_) reservation_->note_name();
  return false;
}

}  // namespace runtime
