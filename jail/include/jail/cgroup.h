// A part of the cgroup v2 tree that belongs to this user, in which every jail gets a leaf of its
// own. Where there is one, the kernel's accounting holds the limits on memory, processes and CPU;
// where there is none, rlimits and a watchdog do (see exit_report.h, Enforcement).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// Where this process stands in the cgroup v2 tree, as a directory. Pure: it reads only the text of
// /proc/self/cgroup (cgroups(7)) and /proc/self/mountinfo (proc(5)). Returns std::nullopt where no
// cgroup v2 hierarchy is mounted or this process is outside of what the mount shows.
std::optional<std::string> own_cgroup_directory(std::string_view proc_self_cgroup,
                                                std::string_view proc_self_mountinfo);

// The limits that the kernel enforces on one jail.
struct LeafLimits {
  std::uint64_t memory_bytes = 0;
  std::uint32_t processes = 0;      // processes and threads, init included
  std::uint32_t cpu_percent = 100;  // of one core
};

// What the kernel counted in one leaf; 0 where it does not say.
struct LeafUsage {
  std::uint64_t memory_peak_bytes = 0;
  std::uint64_t cpu_user_us = 0;
  std::uint64_t cpu_system_us = 0;
  bool out_of_memory = false;  // a process of the leaf was killed at its memory limit
};

class CgroupTree;

// One jail's cgroup. The destructor kills every process in it and tries to remove the directory.
// Where a process is still dying, the next make_leaf(), remove_ended() or end of a leaf removes it.
class CgroupLeaf {
 public:
  CgroupLeaf(CgroupLeaf&&) noexcept = default;
  CgroupLeaf& operator=(CgroupLeaf&&) noexcept;
  ~CgroupLeaf();

  // The directory's descriptor, for CLONE_INTO_CGROUP. Owned by the leaf.
  int directory() const noexcept { return directory_.get(); }
  void kill() const noexcept;  // kills every process in it, at once
  // These may also be called while processes run in it. Errors: kernel.
  Result<void> set_memory_limit(std::uint64_t bytes) const;
  Result<void> set_process_limit(std::uint32_t processes) const;
  Result<void> set_processor_limit(std::uint32_t percent_of_a_core) const;
  // What was used until now; must be read before the leaf is given up.
  LeafUsage usage() const;

 private:
  friend class CgroupTree;
  struct Tree;
  CgroupLeaf(std::shared_ptr<Tree> tree, std::string name, Fd directory) noexcept;
  void abandon() noexcept;

  std::shared_ptr<Tree> tree_;
  std::string name_;
  Fd directory_;
};

// The part of the tree in which leaves are made. A copy refers to the same part.
class CgroupTree {
 public:
  // Takes over `directory`, which must hold no process but this one (which may also be elsewhere).
  // Moves this process into the leaf "supervisor", hands the controllers memory, pids and cpu down,
  // and removes the leaves of makers that are dead. Nothing has changed after an error. Errors:
  // refused (not this user's to write), unsupported (a controller is missing, named; a threaded
  // cgroup), exhausted (other processes are in it), invalid (no cgroup v2).
  static Result<CgroupTree> adopt(const std::string& directory);

  // Must be called as root, before the process becomes that user. Hands over what systemd's
  // Delegate= hands over.
  Result<void> give_to(std::uint32_t user, std::uint32_t group) const;

  // Makes a cgroup with these limits for one jail. Thread-safe. Errors: exhausted (the host has no
  // room for another cgroup), kernel.
  Result<CgroupLeaf> make_leaf(const LeafLimits& limits) const;

  // Removes the leaves whose last process was still ending when they were given up; returns how
  // many still stand. make_leaf() and the end of a leaf do the same. Thread-safe.
  std::size_t remove_ended() const;

  // The directory that was adopted.
  const std::string& path() const noexcept;

 private:
  explicit CgroupTree(std::shared_ptr<CgroupLeaf::Tree> tree) noexcept : tree_(std::move(tree)) {}
  std::shared_ptr<CgroupLeaf::Tree> tree_;
};

}  // namespace jail
