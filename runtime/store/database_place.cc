#include "runtime/store/database_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "jail/fd.h"

namespace runtime {

jail::Result<void> make_private_file(const std::string& path) {
  if (path == in_memory) return {};
  // SQLite takes any kind of file, and reports a device as locked.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return jail::Error{jail::ErrorKind::unsupported, "it is not a regular file", 0, {}};
  }
  const jail::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid())
    return jail::Error{
        jail::ErrorKind::kernel, "open it as uid " + std::to_string(::geteuid()), errno, {}};
  return {};
}

void make_private_directory(const std::string& path) {
  if (path == in_memory) return;
  std::error_code ignored;
  const auto directory = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(directory.parent_path(), ignored);
  ::mkdir(directory.c_str(), 0700);
}

jail::Result<void> set_aside(const std::string& path) {
  if (::rename(path.c_str(), (path + ".damaged").c_str()) != 0) {
    return jail::Error{jail::ErrorKind::kernel, "rename it", errno, {}};
  }
  // A log that belongs to the damaged file must not be played into the next one.
  ::unlink((path + "-wal").c_str());
  ::unlink((path + "-shm").c_str());
  return {};
}

}  // namespace runtime
