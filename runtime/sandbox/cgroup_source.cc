#include "runtime/sandbox/cgroup_source.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <utility>

#include "runtime/config/text_file.h"
#include "runtime/sandbox/systemd_scope.h"

namespace runtime {
namespace {

using jail::Error;
using jail::ErrorKind;
using jail::Result;

// On a host with thousands of mounts these files have megabytes.
constexpr std::size_t max_proc_bytes = 16u << 20;

// Returns an empty text where the file cannot be read: then it shows no cgroup either.
std::string text_of(const char* path) {
  auto text = read_text_file(path, max_proc_bytes);
  return text ? std::move(*text) : std::string();
}

// The first attribute can be read with CAP_SYS_ADMIN only. A user's systemd sets neither.
bool has_delegation_mark(const std::string& directory) {
  for (const char* name : {"trusted.delegate", "user.delegate"}) {
    char value = 0;
    if (::getxattr(directory.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

CgroupPlace this_place() {
  return {.proc_self_cgroup = text_of("/proc/self/cgroup"),
          .proc_self_mountinfo = text_of("/proc/self/mountinfo"),
          .under_systemd = ::access("/run/systemd/system", F_OK) == 0,
          .is_marked_delegated = has_delegation_mark};
}

// The caller gives one hint for all errors together.
std::string without_hint(Error error) {
  error.hint.clear();
  return error.message();
}

std::string socket_of_systemd(const CgroupRequest& request) {
  if (::geteuid() == 0) return "/run/systemd/private";
  const std::string directory = request.runtime_directory.empty()
                                    ? "/run/user/" + std::to_string(::geteuid())
                                    : request.runtime_directory;
  return directory + "/systemd/private";
}

}  // namespace

std::string_view to_string(CgroupOrigin origin) noexcept {
  switch (origin) {
    case CgroupOrigin::configured:
      return "configured";
    case CgroupOrigin::own:
      return "own";
    case CgroupOrigin::systemd:
      return "systemd";
    case CgroupOrigin::none:
      break;
  }
  return "none";
}

Result<std::string> own_delegated_directory(const CgroupPlace& place) {
  auto directory = jail::own_cgroup_directory(place.proc_self_cgroup, place.proc_self_mountinfo);
  if (!directory) {
    return Error{ErrorKind::unsupported, "find the own cgroup: no cgroup v2 shows it here", 0, {}};
  }
  // "0::/" is the root of the hierarchy, or that of a cgroup namespace that a container got as a
  // whole.
  const bool at_root = place.proc_self_cgroup.find("0::/\n") != std::string::npos;
  if (place.under_systemd && !at_root && !place.is_marked_delegated(*directory)) {
    return Error{ErrorKind::refused,
                 "use the cgroup " + *directory + ": systemd did not delegate it",
                 0,
                 {}};
  }
  return std::move(*directory);
}

Result<CgroupFound> search_cgroup(const std::string& configured, const CgroupSteps& steps) {
  if (configured == "none") {
    return CgroupFound{CgroupOrigin::none, "no cgroup is wanted by configuration"};
  }
  const auto adopt = [&steps](const Result<std::string>& directory) -> Result<void> {
    if (!directory) return directory.error();
    return steps.adopt(*directory);
  };
  if (configured != "auto") {
    const auto named = configured == "own" ? steps.named_own_directory() : configured;
    if (const auto adopted = adopt(named); !adopted) return adopted.error();
    return CgroupFound{CgroupOrigin::configured, {}};
  }
  const auto own = adopt(steps.own_directory());
  if (own) return CgroupFound{CgroupOrigin::own, {}};
  const auto in_scope = adopt(steps.enter_scope());
  if (in_scope) return CgroupFound{CgroupOrigin::systemd, {}};
  return CgroupFound{CgroupOrigin::none,
                     without_hint(own.error()) + "; " + without_hint(in_scope.error())};
}

Result<CgroupChoice> find_cgroup(const CgroupRequest& request) {
  CgroupChoice choice;
  CgroupSteps steps;
  steps.own_directory = [] { return own_delegated_directory(this_place()); };
  // The operator has said that the directory is delegated, so the mark on its unit is not looked
  // at.
  steps.named_own_directory = [] {
    CgroupPlace place = this_place();
    place.under_systemd = false;
    return own_delegated_directory(place);
  };
  steps.adopt = [&choice](const std::string& directory) -> Result<void> {
    auto tree = jail::CgroupTree::adopt(directory);
    if (!tree) return tree.error();
    choice.tree.emplace(std::move(*tree));
    return {};
  };
  steps.enter_scope = [&request, &steps]() -> Result<std::string> {
    const ScopeRequest scope{.socket = socket_of_systemd(request),
                             .name = "agent-sandbox-" + std::to_string(::getpid()) + ".scope"};
    if (const auto entered = enter_systemd_scope(scope); !entered) return entered.error();
    return steps.named_own_directory();
  };
  auto found = search_cgroup(request.configured, steps);
  if (!found) return found.error();
  choice.origin = found->origin;
  choice.why_none = std::move(found->why_none);
  return choice;
}

}  // namespace runtime
