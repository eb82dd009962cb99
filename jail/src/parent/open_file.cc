// Jail::open_file(): files of a living jail, where hostile processes may change any name meanwhile.
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "jail/jail.h"
#include "parent/jail_state.h"
#include "parent/order.h"
#include "plan/check_spec.h"
#include "plan/path_rules.h"

namespace jail {
namespace {

constexpr int known_flags = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY |
                            O_NOFOLLOW | O_PATH | O_CLOEXEC | O_NONBLOCK;

// A rename on the way makes the kernel unsure whether ".." has left the root (EAGAIN).
constexpr int max_tries = 100;

Fd open_in_root(int root, const std::string& path, int flags, std::uint32_t mode) {
  open_how how{};
  // A FIFO is opened without waiting, a terminal without becoming anybody's.
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  how.mode = (flags & O_CREAT) != 0 ? mode & 07777 : 0;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int i = 0; i < max_tries; ++i) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
    if (fd.valid() || errno != EAGAIN) return fd;
  }
  return {};
}

Result<void> check_opened(const Fd& file, const std::string& doing) {
  struct stat status {};
  struct statfs system {};
  if (::fstat(file.get(), &status) != 0 || ::fstatfs(file.get(), &system) != 0) {
    return system_error(doing);
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::refused, doing + ": neither a file nor a directory", 0, {}};
  }
  if (system.f_type == PROC_SUPER_MAGIC) {
    return Error{ErrorKind::refused, doing + ": not a file of the jail's own", 0, {}};
  }
  return {};
}

}  // namespace

Result<Fd> Jail::open_file(std::string_view path, int flags, std::uint32_t mode) const {
  const std::string name(path);
  const std::string doing = "open " + name + " in the jail";
  if (path.empty() || path[0] != '/' || has_nul(path)) {
    return invalid("path: \"" + name + "\" is not an absolute path");
  }
  if ((flags & ~known_flags) != 0) return invalid("flags: not ones of a file or directory");
  if (!state_->root.valid()) return invalid(doing + ": it is not a living jail, or not ready yet");
  Fd file = open_in_root(state_->root.get(), name, flags, mode);
  if (!file.valid()) {
    Error error = system_error(doing);
    if (error.sys_errno == ENOSPC || error.sys_errno == EDQUOT) error.kind = ErrorKind::exhausted;
    return error;
  }
  if (auto checked = check_opened(file, doing); !checked) return checked.error();
  return file;
}

}  // namespace jail
