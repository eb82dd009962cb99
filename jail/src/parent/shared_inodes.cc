#include "parent/shared_inodes.h"

#include <errno.h>
#include <fcntl.h>

#include "child/hold_inode.h"
#include "parent/order.h"
#include "plan/concerns.h"

namespace jail {
namespace {

// The same one by both names below /proc/self/ns. A kernel may be without it.
constexpr char clocks[] = "/proc/self/ns/time";

Error cannot_hold(const std::string& path, int error) {
  const bool is_locked = error == EWOULDBLOCK || error == EAGAIN;
  return {ErrorKind::refused, "hold a shared lock on " + path, error,
          is_locked ? "a process of this host has locked it (see /proc/locks), which every jail "
                      "would notice"
                    : ""};
}

}  // namespace

Result<std::vector<Fd>> hold_shared_inodes() {
  std::vector<std::string> paths;
  for (const char* device : devices) paths.push_back(path_of_device(device));
  paths.emplace_back(clocks);
  std::vector<Fd> held;
  for (const std::string& path : paths) {
    Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT && path == clocks) continue;
    if (!file.valid()) return system_error("open " + path);
    if (const int error = hold_inode(file.get()); error != 0) return cannot_hold(path, error);
    held.push_back(std::move(file));
  }
  return held;
}

}  // namespace jail
