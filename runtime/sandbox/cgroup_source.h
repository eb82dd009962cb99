// Where the cgroup comes from in which every jail gets a leaf.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "jail/cgroup.h"
#include "jail/result.h"

namespace runtime {

struct CgroupRequest {
  std::string configured = "auto";  // or "own", "none", or a directory of cgroup v2
  std::string runtime_directory;    // XDG_RUNTIME_DIR; empty: where systemd puts it
};

enum class CgroupOrigin { none, configured, own, systemd };

std::string_view to_string(CgroupOrigin origin) noexcept;

struct CgroupChoice {
  std::optional<jail::CgroupTree> tree;
  CgroupOrigin origin = CgroupOrigin::none;
  std::string why_none;  // what was tried and why it failed, in one line; empty with a tree
};

// What the search tries; nothing of it changes anything when it fails.
struct CgroupSteps {
  // The directory that this process stands in, if it was delegated, else why it is not ours.
  std::function<jail::Result<std::string>()> own_directory;
  // The same, and the operator has said that it was delegated.
  std::function<jail::Result<std::string>()> named_own_directory;
  std::function<jail::Result<void>(const std::string& directory)> adopt;
  // Moves this process into a unit that was asked for, and returns its directory.
  std::function<jail::Result<std::string>()> enter_scope;
};

struct CgroupFound {
  CgroupOrigin origin = CgroupOrigin::none;
  std::string why_none;
};

// A configured directory, else the own one, else one from systemd. A configured one that cannot be
// used is an error: who named it relies on it.
jail::Result<CgroupFound> search_cgroup(const std::string& configured, const CgroupSteps& steps);

// What decides whether the cgroup that a process stands in may be taken.
struct CgroupPlace {
  std::string proc_self_cgroup;
  std::string proc_self_mountinfo;
  bool under_systemd = false;  // whose all cgroups are that it did not delegate
  std::function<bool(const std::string& directory)> is_marked_delegated;  // by systemd
};

jail::Result<std::string> own_delegated_directory(const CgroupPlace& place);

// Moves this process, so it is to be called while there is only one thread.
jail::Result<CgroupChoice> find_cgroup(const CgroupRequest& request);

}  // namespace runtime
