// This part of Watch counts what is in files, and sees whether anything has changed.
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "child/raw_syscall.h"
#include "child/watch.h"

namespace jail::child {

// The content of both tmpfs of the jail.
struct Watch::Files {
  std::uint64_t bytes = 0;
  std::uint64_t inodes = 0;
};

Watch::Files Watch::count_files() const {
  Files files;
  const int directories[] = {workspace_, tmp_};
  for (const int directory : directories) {
    struct statfs usage {};
    if (raw::call(SYS_fstatfs, directory, raw::address(&usage)) != 0) continue;
    files.bytes += static_cast<std::uint64_t>(usage.f_blocks - usage.f_bfree) *
                   static_cast<std::uint64_t>(usage.f_bsize);
    files.inodes += static_cast<std::uint64_t>(usage.f_files - usage.f_ffree);
  }
  return files;
}

void Watch::look_at_files() {
  const Files files = count_files();
  files_ = shared_ + files.bytes;
  inodes_ = files.inodes;
}

bool Watch::is_still() const {
  if (!is_still_ || !known_.none_has_run()) return false;
  const Files files = count_files();
  return shared_ + files.bytes == files_ && files.inodes == inodes_;
}

}  // namespace jail::child
