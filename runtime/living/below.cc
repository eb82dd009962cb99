#include "runtime/living/below.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

namespace runtime::below {
namespace {

using jail::Fd;

// 2262-01-01T00:00:00Z
constexpr std::int64_t last_second = 9'214'646'400;

Fd open_beneath(int directory, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return Fd(static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how)));
}

FileEntry::Type type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileEntry::Type::file;
  if (S_ISDIR(mode)) return FileEntry::Type::directory;
  return S_ISLNK(mode) ? FileEntry::Type::link : FileEntry::Type::other;
}

std::string target_of(int directory, const char* name) {
  std::array<char, 4096> target;
  const ssize_t size = ::readlinkat(directory, name, target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

}  // namespace

Directory directory_of(Fd fd) {
  Directory directory(::fdopendir(fd.get()));
  if (directory != nullptr) (void)fd.release();
  return directory;
}

const char* next_name(DIR* directory) {
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
  return nullptr;
}

Fd open_directory(int directory, const char* path) {
  return open_beneath(directory, path, O_RDONLY | O_DIRECTORY);
}

Fd open_file(int directory, const char* path) {
  // Opening a device or a pipe for reading could have an effect.
  const Fd found = open_beneath(directory, path, O_PATH);
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) return Fd();
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return Fd();
  }
  const std::string by_number = "/proc/self/fd/" + std::to_string(found.get());
  return Fd(::open(by_number.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

Fd open_shut_directory(int directory, const char* name, mode_t rights) {
  const Fd node(::openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return node.valid() ? open_shut_directory(node, rights) : Fd();
}

Fd open_shut_directory(const Fd& directory, mode_t rights) {
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) return {};
  if (status.st_uid != ::geteuid()) {
    errno = EPERM;
    return {};
  }
  const std::string by_number = "/proc/self/fd/" + std::to_string(directory.get());
  const mode_t mode = status.st_mode & 07777;
  if ((mode & rights) != rights && ::chmod(by_number.c_str(), mode | rights) != 0) return {};
  return Fd(::open(by_number.c_str(), O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC));
}

std::optional<FileEntry> entry_at(int directory, const char* name, std::string path) {
  struct stat status {};
  if (::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0) {
    return std::nullopt;
  }
  FileEntry entry;
  entry.path = std::move(path);
  entry.type = type_of(status.st_mode);
  entry.size = static_cast<std::uint64_t>(status.st_size);
  entry.mode = status.st_mode & 07777;
  // A guest can set the time to any value, including those beyond the clock's range.
  const std::int64_t seconds = std::clamp<std::int64_t>(status.st_mtim.tv_sec, 0, last_second);
  entry.modified = std::chrono::system_clock::time_point(std::chrono::seconds(seconds)) +
                   std::chrono::microseconds(status.st_mtim.tv_nsec / 1000);
  if (entry.type == FileEntry::Type::link) entry.target = target_of(directory, name);
  return entry;
}

jail::Error failed(const std::string& doing) {
  const int error = errno;
  const bool is_short = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE;
  return {is_short ? jail::ErrorKind::exhausted : jail::ErrorKind::kernel, doing, error, {}};
}

std::string joined(const std::string& directory, std::string_view name) {
  return directory + (directory.ends_with('/') ? "" : "/") + std::string(name);
}

std::string normal(std::string_view path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace runtime::below
