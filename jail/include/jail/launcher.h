// The process that clones jails. It is a small program inside the library, executed with an empty
// environment, so that neither it nor the jails it makes hold anything of the embedding process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jail/cgroup.h"
#include "jail/egress.h"
#include "jail/id_range.h"
#include "jail/jail.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

// The options of a Launcher. The defaults require nothing of the host.
struct LauncherOptions {
  // The tree in which each jail gets a cgroup of its own. Without it rlimits and a watchdog hold
  // the limits.
  std::optional<CgroupTree> cgroups = std::nullopt;
  // The way out of jails with Network::Kind::egress. Any number of launchers may share it.
  std::shared_ptr<const EgressProxy> egress = nullptr;
  // A user and a group of the host for each jail. Without it all have those of this process. With
  // it a jail shows no volumes, and of the host's files what everybody may read.
  std::shared_ptr<const IdRange> ids = nullptr;
};

// How far the kernel's Landlock confines guests, in addition to their mounts, namespaces and
// filter.
struct LandlockReach {
  int version = 0;       // of its interface; 0: the kernel has none that serves
  bool signals = false;  // whether it confines signals and abstract sockets too, not files alone
};

// The reach of the running kernel's Landlock. Guests get the same.
LandlockReach landlock_reach() noexcept;

// Makes jails; one is enough for a process. Its const methods may be called from any thread at
// once; moving and destroying it, as with any value, only when no other thread uses it.
class Launcher {
 public:
  // Jails run with this process's user and group, unless LauncherOptions::ids has others, and this
  // process must not be root: no jail runs as host uid 0. The launcher is a child process of the
  // caller; it ends with the Launcher or with the caller. Errors: refused (host uid 0), exhausted,
  // kernel.
  static Result<Launcher> start(LauncherOptions options = {});

  Launcher(Launcher&&) noexcept;
  Launcher& operator=(Launcher&&) noexcept;
  ~Launcher();  // running jails go on: each belongs to its Jail

  // Does not wait for the jail to be ready. Thread-safe.
  // Errors: invalid or refused (names the field), exhausted, closed (the launcher is gone: start
  // another).
  Result<Jail> launch(const JailSpec& spec) const;

  // Says first what `spec` loosens, each with its reason, or "Loosened: nothing": volumes, devices,
  // binds beside the root, a policy that permits more than the default one, network. Then says the
  // plan in words, one system call a line, as launch() would run it. Thread-safe. Errors: as
  // launch().
  Result<std::string> explain(const JailSpec& spec) const;

  // What holds the limits of the jails launched here.
  Enforcement enforcement() const noexcept;

  // LandlockReach::version of the guests that are launched here.
  int landlock_version() const noexcept;

  // A pidfd, readable when the launcher has ended. Owned by the Launcher, which reaps that child
  // when it is destroyed; a Pool that is advanced reaps it within a second.
  int process_fd() const noexcept;

  struct State;                                                            // the library's own
  const std::shared_ptr<State>& state() const noexcept { return state_; }  // the library's own

 private:
  explicit Launcher(std::shared_ptr<State> state) noexcept;

  std::shared_ptr<State> state_;
};

}  // namespace jail
