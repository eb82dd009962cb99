// Finds the cgroup in which every jail gets a leaf.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "jail/cgroup.h"
#include "jail/result.h"

namespace runtime {

struct CgroupRequest {
  std::string configured = "auto";  // "auto", "own", "none", or a directory of cgroup v2
  std::string runtime_directory;    // XDG_RUNTIME_DIR; empty: systemd's default
};

enum class CgroupOrigin { none, configured, own, systemd };

std::string_view to_string(CgroupOrigin origin) noexcept;

struct CgroupChoice {
  std::optional<jail::CgroupTree> tree;
  CgroupOrigin origin = CgroupOrigin::none;
  std::string why_none;  // what was tried and why it failed, in one line; empty where there is a
                         // tree
};

// The steps of the search; a step that fails has changed nothing.
struct CgroupSteps {
  // Returns the directory of this process's cgroup if it was delegated, else why it may not be
  // used.
  std::function<jail::Result<std::string>()> own_directory;
  // The same where the operator has said that it was delegated.
  std::function<jail::Result<std::string>()> named_own_directory;
  std::function<jail::Result<void>(const std::string& directory)> adopt;
  // Moves this process into a unit that systemd makes for it, and returns its directory.
  std::function<jail::Result<std::string>()> enter_scope;
};

struct CgroupFound {
  CgroupOrigin origin = CgroupOrigin::none;
  std::string why_none;
};

// Returns a configured directory, else the process's own cgroup, else one from systemd. A
// configured one that cannot be used is an error, since the operator relies on it.
jail::Result<CgroupFound> search_cgroup(const std::string& configured, const CgroupSteps& steps);

// The facts that decide whether the cgroup of a process may be taken over.
struct CgroupPlace {
  std::string proc_self_cgroup;
  std::string proc_self_mountinfo;
  bool under_systemd = false;  // all cgroups that systemd did not delegate are its own
  std::function<bool(const std::string& directory)> is_marked_delegated;  // marked by systemd
};

jail::Result<std::string> own_delegated_directory(const CgroupPlace& place);

// Moves this process, so it must be called while there is only one thread.
jail::Result<CgroupChoice> find_cgroup(const CgroupRequest& request);

}  // namespace runtime
