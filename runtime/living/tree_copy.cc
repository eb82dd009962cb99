#include "runtime/living/tree_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/living/below.h"
#include "runtime/living/disk_count.h"

namespace runtime {
namespace {

using below::failed;
using jail::Error;
using jail::ErrorKind;
using jail::Fd;
using jail::Result;

// A cancellation is noticed after so many bytes.
constexpr std::int64_t bytes_at_a_time = 16 << 20;

constexpr mode_t rights_to_list = 0500;

std::string by_number(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

void copy_mode_and_time(const struct stat& status, int to) {
  ::fchmod(to, status.st_mode & 0777);
  const timespec times[] = {status.st_mtim, status.st_mtim};
  // A time that the file system cannot store is left as it is.
  (void)::futimens(to, times);
}

Fd open_to_read(const Fd& node, const struct stat& status) {
  const bool is_shut = (status.st_mode & 0400) == 0;
  const std::string path = by_number(node);
  if (is_shut) ::chmod(path.c_str(), (status.st_mode & 07777) | 0400);
  Fd file(::open(path.c_str(), O_RDONLY | O_NOATIME | O_CLOEXEC));
  if (is_shut) ::chmod(path.c_str(), status.st_mode & 07777);
  return file;
}

}  // namespace

Result<void> TreeCopy::run() {
  Fd from(::openat(from_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!from.valid()) return failed("read a directory");
  return copy_directory(std::move(from), to_, 0);
}

Result<void> TreeCopy::take(std::uint64_t bytes) {
  ++files_;
  bytes_ += bytes;
  if (files_ > limits_.files || bytes_ > limits_.bytes) {
    return Error{ErrorKind::exhausted, "copy a tree within its limits", EFBIG, {}};
  }
  return {};
}

Result<void> TreeCopy::copy_directory(Fd from, const Fd& to, int depth) {
  if (depth >= DiskCount::max_depth) {
    return Error{ErrorKind::exhausted, "copy a tree that is so deep", EFBIG, {}};
  }
  const auto listed = below::directory_of(std::move(from));
  if (listed == nullptr) return failed("read a directory");
  while (const char* name = below::next_name(listed.get())) {
    auto done = copy_entry(::dirfd(listed.get()), name, to.get(), depth);
    if (!done) return done;
  }
  return {};
}

Result<void> TreeCopy::copy_entry(int from, const std::string& name, int to, int depth) {
  if (cancel_.requested()) return Error{ErrorKind::closed, "copy a tree", 0, {}};
  const Fd node(::openat(from, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!node.valid() || ::fstat(node.get(), &status) != 0) return failed("look at a file");
  if (S_ISREG(status.st_mode)) return copy_file(node, to, name);
  if (S_ISLNK(status.st_mode)) return copy_link(from, name, to);
  if (!S_ISDIR(status.st_mode)) return {};
  if (auto taken = take(DiskCount::bytes_of(status)); !taken) return taken;
  if (::mkdirat(to, name.c_str(), 0700) != 0) return failed("make a directory");
  const Fd made(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return failed("open a directory");
  Fd listed = below::open_shut_directory(node, rights_to_list);
  if (!listed.valid()) return failed("read a directory");
  if (auto done = copy_directory(std::move(listed), made, depth + 1); !done) return done;
  copy_mode_and_time(status, made.get());
  return {};
}

Result<void> TreeCopy::copy_file(const Fd& node, int to, const std::string& name) {
  struct stat status {};
  if (::fstat(node.get(), &status) != 0) return failed("look at a file");
  if (auto taken = take(DiskCount::bytes_of(status)); !taken) return taken;
  const Fd file = open_to_read(node, status);
  if (!file.valid()) return failed("read a file");
  const Fd made(
      ::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made.valid()) return failed("make a file");
  auto done = copy_content(file.get(), made.get(), static_cast<std::uint64_t>(status.st_size));
  if (!done) return done;
  copy_mode_and_time(status, made.get());
  return {};
}

Result<void> TreeCopy::copy_link(int from, const std::string& name, int to) {
  if (auto taken = take(0); !taken) return taken;
  std::array<char, 4096> target{};
  const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size() - 1);
  if (size < 0) return failed("read a link");
  if (::symlinkat(target.data(), to, name.c_str()) != 0) return failed("make a link");
  return {};
}

Result<void> TreeCopy::copy_content(int from, int to, std::uint64_t size) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  const auto end = static_cast<std::int64_t>(size);
  if (::ftruncate(to, end) != 0) return failed("make a file");
  for (std::int64_t at = 0; at < end;) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return {};  // the rest is a hole
    if (data < 0) return failed("read a file");
    const off_t hole = ::lseek(from, data, SEEK_HOLE);
    const std::int64_t data_end = hole < 0 ? end : std::min<std::int64_t>(hole, end);
    if (auto done = copy_piece(from, to, data, data_end); !done) return done;
    at = data_end;
  }
  return {};
}

Result<void> TreeCopy::copy_piece(int from, int to, std::int64_t begin, std::int64_t end) {
  off_t read_at = begin;
  off_t write_at = begin;
  while (read_at < end) {
    if (cancel_.requested()) return Error{ErrorKind::closed, "copy a tree", 0, {}};
    const auto size = static_cast<std::size_t>(std::min(bytes_at_a_time, end - read_at));
    const ssize_t copied = ::copy_file_range(from, &read_at, to, &write_at, size, 0);
    if (copied < 0 && errno != EINTR) return failed("copy a file");
    if (copied == 0) return {};
  }
  return {};
}

}  // namespace runtime
