#include "runtime/living/disk_count.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "runtime/living/below.h"
#include "runtime/living/process_files.h"

namespace runtime {
namespace {

using jail::Fd;

constexpr int to_read = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC;
// A guest can change the mode of a directory again as often as it likes.
constexpr int max_openings = 3;
// A guest can make and remove names for as long as a directory is being read.
constexpr std::uint64_t names_for_each_file = 4;
constexpr std::size_t max_lines_of_maps = 100'000;

std::uint64_t bytes_of(const struct stat& status) {
  constexpr std::uint64_t unit = 512;  // of st_blocks, on every file system
  return static_cast<std::uint64_t>(status.st_blocks) * unit;
}

// Whoever shuts a directory could hide files in it: its owner's right to read and enter it is
// restored. The Fd is not valid where the name leads to no directory any more, and where it leads
// to one that cannot be read, with EACCES.
Fd open_below(int above, const char* name) {
  for (int i = 0; i < max_openings; ++i) {
    Fd directory(::openat(above, name, to_read));
    if (directory.valid() || errno != EACCES) return directory;
    const Fd node(::openat(above, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (!node.valid() || ::fstat(node.get(), &status) != 0) return {};
    const std::string by_number = "/proc/self/fd/" + std::to_string(node.get());
    ::chmod(by_number.c_str(), (status.st_mode & 07777) | 0700);
  }
  errno = EACCES;
  return {};
}

Fd open_again(const Fd& directory) {
  struct stat status {};
  if (::fstat(directory.get(), &status) == 0 && (status.st_mode & 0700) != 0700) {
    ::fchmod(directory.get(), (status.st_mode & 07777) | 0700);
  }
  return Fd(::openat(directory.get(), ".", to_read));
}

struct Line {
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { std::free(text); }

  char* text = nullptr;
  std::size_t room = 0;
};

struct CloseFile {
  void operator()(FILE* file) const { ::fclose(file); }
};

}  // namespace

DiskCount::DiskCount(Fd directory) : directory_(std::move(directory)) {
  struct stat status {};
  if (::fstat(directory_.get(), &status) == 0) device_ = status.st_dev;
}

DiskUse DiskCount::look(const Fd& init, std::uint64_t max_bytes, std::uint64_t max_files) {
  use_ = {};
  max_bytes_ = max_bytes;
  max_files_ = max_files;
  names_left_ = names_for_each_file * max_files;
  before_ = std::exchange(seen_, {});
  // Files that lose their names while this looks are found by one of both ways.
  const auto processes = init.valid() ? processes_below(init) : std::vector<std::string>();
  for (const std::string& process : processes) add_open_files(process);
  walk(open_again(directory_), 0);
  for (const std::string& process : processes) {
    add_open_files(process);
    add_mapped_files(process);
  }
  use_.in_flight = in_flight_to(processes);
  return use_;
}

bool DiskCount::is_beyond() const {
  return use_.bytes > max_bytes_ || use_.files > max_files_ || !use_.is_countable;
}

void DiskCount::add(ino_t inode, std::uint64_t bytes) {
  const auto [place, is_new] = seen_.try_emplace(inode, bytes);
  if (is_new) {
    ++use_.files;
    use_.bytes += bytes;
  } else if (bytes > place->second) {
    use_.bytes += bytes - std::exchange(place->second, bytes);
  }
}

// Returns false where there is no need to look further.
bool DiskCount::walk(Fd directory, int depth) {
  const auto listed = below::directory_of(std::move(directory));
  if (listed == nullptr) {
    use_.is_countable = false;
    return false;
  }
  while (const char* name = below::next_name(listed.get())) {
    if (names_left_ == 0) use_.is_countable = false;
    if (names_left_ == 0) return false;
    --names_left_;
    struct stat status {};
    if (::fstatat(::dirfd(listed.get()), name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    add(status.st_ino, bytes_of(status));
    if (is_beyond()) return false;
    if (!S_ISDIR(status.st_mode)) continue;
    Fd inner = open_below(::dirfd(listed.get()), name);
    if (!inner.valid() && errno != EACCES) continue;  // another name by now, or none
    if (!inner.valid() || depth + 1 == max_depth) {
      use_.is_countable = false;
      return false;
    }
    if (!walk(std::move(inner), depth + 1)) return false;
  }
  return true;
}

void DiskCount::add_open_files(const std::string& process) {
  const auto listed = below::directory_of(
      Fd(::open((process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (listed == nullptr) return;
  while (const char* name = below::next_name(listed.get())) {
    struct stat status {};
    if (::fstatat(::dirfd(listed.get()), name, &status, 0) != 0) continue;
    if (status.st_dev != device_ || status.st_nlink != 0) continue;
    add(status.st_ino, bytes_of(status));
  }
}

std::uint64_t DiskCount::in_flight_to(const std::vector<std::string>& processes) const {
  std::uint64_t in_flight = 0;
  for (const std::string& process : processes) {
    const auto listed = below::directory_of(
        Fd(::open((process + "/fd").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    if (listed == nullptr) continue;
    while (const char* name = below::next_name(listed.get())) {
      struct stat status {};
      if (::fstatat(::dirfd(listed.get()), name, &status, 0) != 0) continue;
      if (!S_ISSOCK(status.st_mode)) continue;
      const auto text = text_of(process + "/fdinfo/" + name);
      if (text) in_flight += number_after(*text, "scm_fds:").value_or(0);
    }
  }
  return in_flight;
}

void DiskCount::add_mapped_files(const std::string& process) {
  const std::unique_ptr<FILE, CloseFile> maps(::fopen((process + "/maps").c_str(), "re"));
  if (maps == nullptr) return;
  Line line;
  for (std::size_t i = 0; i < max_lines_of_maps; ++i) {
    const ssize_t size = ::getline(&line.text, &line.room, maps.get());
    if (size <= 0) return;
    const std::string_view whole(line.text, static_cast<std::size_t>(size));
    if (!whole.ends_with(" (deleted)\n")) continue;
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    unsigned device_major = 0;
    unsigned device_minor = 0;
    std::uint64_t inode = 0;
    const int found = std::sscanf(line.text, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64,
                                  &from, &to, &device_major, &device_minor, &inode);
    if (found != 5 || inode == 0 || makedev(device_major, device_minor) != device_) continue;
    if (seen_.contains(inode)) continue;
    const auto before = before_.find(inode);
    add(inode, std::max(to - from, before == before_.end() ? 0 : before->second));
  }
}

}  // namespace runtime
