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
#include "parent/act_as.h"
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

// A FIFO is opened without waiting, a terminal without becoming anybody's.
constexpr int harmless = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Fd open_in_root(int root, const std::string& path, int flags, std::uint32_t mode = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.mode = (flags & O_CREAT) != 0 ? mode & 07777 : 0;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  for (int i = 0; i < max_tries; ++i) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
    if (fd.valid() || errno != EAGAIN) return fd;
  }
  return {};
}

Error opening_error(const std::string& doing) {
  Error error = system_error(doing);
  if (error.sys_errno == ENOSPC || error.sys_errno == EDQUOT) error.kind = ErrorKind::exhausted;
  return error;
}

Error opening_error(const std::string& doing, int error) {
  errno = error;
  return opening_error(doing);
}

// Refuses what is neither a file nor a directory. `node` was opened with O_PATH, which opens no
// device and no FIFO.
Result<void> check_node(const Fd& node, const std::string& doing, int flags) {
  struct stat status {};
  struct statfs system {};
  if (::fstat(node.get(), &status) != 0 || ::fstatfs(node.get(), &system) != 0) {
    return system_error(doing);
  }
  if (S_ISLNK(status.st_mode) && (flags & O_PATH) == 0) return opening_error(doing, ELOOP);
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Error{ErrorKind::refused, doing + ": neither a file nor a directory", 0, {}};
  }
  if (system.f_type == PROC_SUPER_MAGIC) {
    return Error{ErrorKind::refused, doing + ": not a file of the jail's own", 0, {}};
  }
  if ((flags & O_CREAT) != 0) {
    if ((flags & O_EXCL) != 0) return opening_error(doing, EEXIST);
    if (S_ISDIR(status.st_mode)) return opening_error(doing, EISDIR);
  }
  return {};
}

// The very file, whatever its name leads to by now.
Fd reopen(const Fd& node, int flags) {
  const std::string path = "/proc/self/fd/" + std::to_string(node.get());
  return Fd(::open(path.c_str(), (flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW)) | harmless));
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
  const int root = state_->root.get();
  const ActAs acting(state_->ids());
  for (int i = 0; i < max_tries; ++i) {
    const int to_look = O_PATH | O_CLOEXEC | (flags & (O_NOFOLLOW | O_DIRECTORY));
    Fd node = open_in_root(root, name, to_look);
    if (node.valid()) {
      if (auto checked = check_node(node, doing, flags); !checked) return checked.error();
      if ((flags & O_PATH) != 0) return node;
      Fd file = reopen(node, flags);
      if (!file.valid()) return opening_error(doing);
      return file;
    }
    if (errno != ENOENT || (flags & O_CREAT) == 0) return opening_error(doing);
    // Where it makes the file it opens no other one.
    Fd file = open_in_root(root, name, flags | O_EXCL | harmless, mode);
    if (file.valid()) return file;
    if (errno != EEXIST) return opening_error(doing);
    // Somebody else has made it since; or a link of that name leads to where nothing is.
  }
  return opening_error(doing, EEXIST);
}

}  // namespace jail
