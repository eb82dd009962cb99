// Making a cgroup one's own: looked at first, changed afterwards, put back when that fails.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>

#include "jail/cgroup.h"
#include "parent/cgroup_files.h"
#include "parent/cgroup_state.h"

namespace jail {
namespace {

constexpr std::string_view needed_controllers[] = {"memory", "pids", "cpu"};
constexpr const char* supervisor = "supervisor";

std::string use(const std::string& path) { return "use the cgroup " + path; }

Result<void> check_kind(int directory, const std::string& path) {
  struct statfs mounted {};
  if (::fstatfs(directory, &mounted) != 0) return cgroup_error(use(path), errno);
  if (mounted.f_type != CGROUP2_SUPER_MAGIC) {
    return Error{ErrorKind::invalid, use(path) + ": it is not a directory of cgroup v2", 0, {}};
  }
  // The root of the hierarchy has no type.
  std::string type = read_cgroup_file(directory, "cgroup.type");
  if (!type.empty() && type.back() == '\n') type.pop_back();
  if (type.empty() || type == "domain") return {};
  return Error{ErrorKind::unsupported, use(path) + ": it is of the type \"" + type + "\"", 0,
               "memory is accounted only in cgroups of the type domain below such ones"};
}

Result<void> check_controllers(int directory, const std::string& path) {
  const std::string controllers = read_cgroup_file(directory, "cgroup.controllers");
  std::string missing;
  for (const std::string_view controller : needed_controllers) {
    if (has_word(controllers, controller)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(controller);
  }
  if (missing.empty()) return {};
  return Error{ErrorKind::unsupported, use(path) + ": it lacks the controllers " + missing, 0,
               "delegate memory, pids and cpu to it (systemd: Delegate=yes)"};
}

// Both the launcher's clone into a leaf and the move of this process are judged by the permissions
// of these.
Result<void> check_writable(int directory, const std::string& path) {
  for (const char* name : {".", "cgroup.procs", "cgroup.subtree_control"}) {
    if (::faccessat(directory, name, W_OK, AT_EACCESS) == 0) continue;
    const bool read_only = errno == EROFS;
    return cgroup_error(use(path) + ": write to " + name, errno,
                        read_only ? "cgroups are mounted read-only here, as containers do"
                                  : "it belongs to another user");
  }
  return {};
}

std::string command_of(std::string_view pid) {
  const Fd proc = open_cgroup("/proc/" + std::string(pid));
  std::string name = proc.valid() ? read_cgroup_file(proc.get(), "comm") : "";
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "" : " (" + name + ")";
}

// No cgroup may have both processes of its own and controllers for its children, and nobody else's
// process is ours to move.
Result<void> check_alone(int directory, const std::string& path) {
  const std::string processes = read_cgroup_file(directory, "cgroup.procs");
  const std::string own = std::to_string(::getpid());
  for (std::size_t at = 0; at < processes.size();) {
    const std::size_t end = processes.find('\n', at);
    const std::string pid = processes.substr(at, end - at);
    at = end == processes.npos ? processes.size() : end + 1;
    if (pid == own) continue;
    return Error{ErrorKind::exhausted,
                 use(path) + ": other processes are in it, such as " + pid + command_of(pid), 0,
                 "give agent-sandbox a cgroup of its own"};
  }
  return {};
}

std::string text_of(const char* path) {
  const Fd self = open_cgroup("/proc/self");
  return self.valid() ? read_cgroup_file(self.get(), path) : "";
}

// Moves this process, with all its threads, into the leaf "supervisor" and hands the controllers
// down; what it changed is put back unless all of it worked.
class Entry {
 public:
  Entry(int directory, std::string path) : directory_(directory), path_(std::move(path)) {}
  Entry(const Entry&) = delete;
  ~Entry() {
    if (done_) return;
    if (moved_) static_cast<void>(write_cgroup_file(home_.get(), "cgroup.procs", "0"));
    if (made_) ::unlinkat(directory_, supervisor, AT_REMOVEDIR);
  }

  Result<void> enter() {
    const auto home = own_cgroup_directory(text_of("cgroup"), text_of("mountinfo"));
    if (home) home_ = open_cgroup(*home);
    made_ = ::mkdirat(directory_, supervisor, 0755) == 0;
    if (!made_ && errno != EEXIST) return cgroup_error(use(path_) + ": make a leaf", errno);
    const std::string leaf = std::string(supervisor) + "/cgroup.procs";
    if (auto moved = write_cgroup_file(directory_, leaf, "0"); !moved) {
      return cgroup_error(use(path_) + ": move into it", moved.error().sys_errno,
                          "a user may move processes only inside of what is delegated to him");
    }
    moved_ = true;
    std::string all;
    for (const std::string_view name : needed_controllers) {
      all += (all.empty() ? "+" : " +") + std::string(name);
    }
    if (auto enabled = write_cgroup_file(directory_, "cgroup.subtree_control", all); !enabled) {
      Error error = cgroup_error(use(path_) + ": hand controllers down", enabled.error().sys_errno);
      if (error.sys_errno == EBUSY) {
        error.kind = ErrorKind::exhausted;
        error.hint = "other processes came into it: give agent-sandbox a cgroup of its own";
      }
      return error;
    }
    done_ = true;
    return {};
  }

 private:
  const int directory_;
  const std::string path_;
  Fd home_;
  bool made_ = false;
  bool moved_ = false;
  bool done_ = false;
};

// A leaf whose maker is dead is nobody's. One of a process that lives may be about to get its jail.
bool is_stale(std::string_view name) {
  if (!name.starts_with(leaf_prefix)) return false;
  name.remove_prefix(leaf_prefix.size());
  pid_t maker = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), maker);
  if (error != std::errc() || maker <= 0 || end == name.data() + name.size() || *end != '-') {
    return false;
  }
  return maker == ::getpid() || (::kill(maker, 0) != 0 && errno == ESRCH);
}

std::vector<std::string> stale_leaves(int directory) {
  std::vector<std::string> names;
  Fd listing(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* entries = listing.valid() ? ::fdopendir(listing.get()) : nullptr;
  if (entries == nullptr) return names;
  static_cast<void>(listing.release());  // the DIR owns it
  while (const dirent* entry = ::readdir(entries)) {
    if (is_stale(entry->d_name)) names.emplace_back(entry->d_name);
  }
  ::closedir(entries);
  return names;
}

}  // namespace

Result<CgroupTree> CgroupTree::adopt(const std::string& directory) {
  auto tree = std::make_shared<CgroupLeaf::Tree>();
  tree->path = directory;
  tree->directory = open_cgroup(directory);
  const int fd = tree->directory.get();
  if (fd < 0) return cgroup_error(use(directory), errno);
  for (const auto check : {check_kind, check_controllers, check_writable, check_alone}) {
    if (auto good = check(fd, directory); !good) return good.error();
  }
  Entry entry(fd, directory);
  if (auto entered = entry.enter(); !entered) return entered.error();
  tree->abandoned = stale_leaves(fd);
  tree->remove_abandoned();
  return CgroupTree(std::move(tree));
}

Result<void> CgroupTree::give_to(std::uint32_t user, std::uint32_t group) const {
  const std::string leaf = supervisor;
  for (const std::string& name :
       {std::string("."), std::string("cgroup.procs"), std::string("cgroup.subtree_control"),
        std::string("cgroup.threads"), leaf, leaf + "/cgroup.procs"}) {
    if (::fchownat(tree_->directory.get(), name.c_str(), user, group, AT_SYMLINK_NOFOLLOW) != 0) {
      return cgroup_error(
          "give the cgroup " + tree_->path + " to user " + std::to_string(user) + ": " + name,
          errno);
    }
  }
  return {};
}

}  // namespace jail
