#include "parent/check_grants.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "jail/fd.h"
#include "plan/check_spec.h"
#include "plan/path_rules.h"

namespace jail {
namespace {

Error wrong(ErrorKind kind, const std::string& field, const std::string& what, int error = 0,
            std::string hint = {}) {
  return {kind, field + ": " + what, error, std::move(hint)};
}

// Returns the end of a refusal that names the user who may not do it: a process that root started
// runs as another user by now.
std::string to_whom(int error) {
  return error == EACCES ? " as user " + std::to_string(::geteuid()) : std::string();
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  return real == nullptr ? std::string() : std::string(real.get());
}

Fd open_without_links(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

// The node at `path`, with its status.
Result<Fd> node_at(const std::string& path, const std::string& field, struct stat& status) {
  Fd node = open_without_links(path);
  if (node.valid() && ::fstat(node.get(), &status) == 0) return node;
  const int error = errno;
  if (error != ELOOP)
    return wrong(ErrorKind::invalid, field, "open " + path + to_whom(error), error);
  const std::string real = real_path(path);
  return wrong(ErrorKind::refused, field, "a part of " + path + " is a symbolic link", 0,
               real.empty() ? "" : "it leads to " + real);
}

bool may(const Fd& node, int mode) {
  return ::faccessat(node.get(), "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

bool is_of_the_kernel(const Fd& node) {
  constexpr long kinds[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,   CGROUP_SUPER_MAGIC,
                            CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
                            SECURITYFS_MAGIC,    BPF_FS_MAGIC,  DEVPTS_SUPER_MAGIC};
  struct statfs status {};
  if (::fstatfs(node.get(), &status) != 0) return true;
  return std::find(std::begin(kinds), std::end(kinds), static_cast<long>(status.f_type)) !=
         std::end(kinds);
}

Result<void> check_bind(const ReadOnlyBind& bind, const std::string& entry) {
  const std::string field = entry + ".source";
  const std::string real = real_path(bind.source);
  struct stat status {};
  if (real.empty() || ::stat(real.c_str(), &status) != 0) {
    const int error = errno;
    return wrong(ErrorKind::invalid, field, "find " + bind.source + to_whom(error), error);
  }
  if (is_kernels_own(real)) {
    return wrong(ErrorKind::refused, field, bind.source + " leads to " + real + ", never shown");
  }
  const bool directory = bind.kind == NodeKind::directory;
  if (directory ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)) return {};
  return wrong(ErrorKind::invalid, field,
               bind.source + (directory ? " is not a directory" : " is not a regular file"));
}

Result<void> check_volume(const Volume& volume, const std::string& entry, std::uint32_t uid) {
  const std::string field = entry + ".source";
  struct stat status {};
  auto node = node_at(volume.source, field, status);
  if (!node) return node.error();
  if (!S_ISDIR(status.st_mode)) {
    return wrong(ErrorKind::invalid, field, volume.source + " is not a directory");
  }
  if (is_of_the_kernel(*node)) {
    return wrong(ErrorKind::refused, field, volume.source + " is the kernel's own");
  }
  if (status.st_uid != uid) {
    return wrong(ErrorKind::refused, field,
                 volume.source + " belongs to user " + std::to_string(status.st_uid) +
                     " and not to " + std::to_string(uid) + ", who makes the jail");
  }
  if (!may(*node, W_OK | X_OK)) {
    const int error = errno;
    return wrong(ErrorKind::refused, field, "write into " + volume.source + to_whom(error), error);
  }
  return {};
}

// The driver of /dev/mem and its kin. It is also that of null, zero, full and the random devices,
// which every jail has.
constexpr unsigned memory_driver = 1;

Result<void> check_device(const Device& device, const std::string& entry) {
  const std::string field = entry + ".path";
  struct stat status {};
  auto node = node_at(device.path, field, status);
  if (!node) return node.error();
  if (!S_ISCHR(status.st_mode)) {
    return wrong(ErrorKind::refused, field, device.path + " is not a character device");
  }
  if (major(status.st_rdev) == memory_driver) {
    return wrong(ErrorKind::refused, field,
                 device.path + " is of the driver of /dev/mem: the memory or the log of the host");
  }
  if (!may(*node, R_OK)) {
    return wrong(ErrorKind::refused, field, "read from " + device.path, errno,
                 "this user may not open it, and so no jail of theirs");
  }
  const bool writable = may(*node, W_OK);
  if (device.access == DeviceAccess::read_write && !writable) {
    return wrong(ErrorKind::refused, field, "write to " + device.path, errno,
                 "this user may not open it so, and so no jail of theirs");
  }
  if (device.access == DeviceAccess::read && writable) {
    return wrong(ErrorKind::refused, entry + ".access",
                 device.path + " cannot be given for reading alone: this user may write to it");
  }
  return {};
}

}  // namespace

Result<void> check_grants(const JailSpec& spec, std::uint32_t uid) {
  for (std::size_t i = 0; i < spec.binds.size(); ++i) {
    Result<void> done = check_bind(spec.binds[i], item("binds", i));
    if (!done) return done;
  }
  for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
    Result<void> done = check_volume(spec.volumes[i], item("volumes", i), uid);
    if (!done) return done;
  }
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    Result<void> done = check_device(spec.devices[i], item("devices", i));
    if (!done) return done;
  }
  return {};
}

}  // namespace jail
