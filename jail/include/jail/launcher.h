// The process that clones jails. It is a small program inside the library, executed with an empty
// environment, so that neither it nor the jails it makes hold anything of the embedding process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jail/cgroup.h"
#include "jail/egress.h"
#include "jail/jail.h"
#include "jail/result.h"
#include "jail/spec.h"

namespace jail {

struct LauncherOptions {
  // Where each jail gets a cgroup of its own. Without it rlimits and a watchdog hold the limits.
  std::optional<CgroupTree> cgroups;
  // The way out of jails with Network::Kind::egress. Shared with as many launchers as there are.
  std::shared_ptr<const EgressProxy> egress;
};

class Launcher {
 public:
  // Jails run with this process's user and group, which must not be root: no jail runs as host uid
  // 0. The launcher is a child process of the caller; it ends with the Launcher or with the caller.
  // Errors: refused (host uid 0), exhausted, kernel.
  static Result<Launcher> start(LauncherOptions options = {});

  Launcher(Launcher&&) noexcept;
  Launcher& operator=(Launcher&&) noexcept;
  ~Launcher();  // running jails go on: each belongs to its Jail

  // Does not wait for the jail to be ready. Thread-safe.
  // Errors: invalid (names the field), exhausted, closed (the launcher is gone: start another).
  Result<Jail> launch(const JailSpec& spec) const;

  // The plan of `spec` in words, one system call a line, as launch() would run it. Thread-safe.
  Result<std::string> explain(const JailSpec& spec) const;

  // What holds the limits of the jails launched here.
  Enforcement enforcement() const noexcept;

  // A pidfd, readable when the launcher has ended. Owned by the Launcher.
  int process_fd() const noexcept;

  struct State;  // the library's own
  const State& state() const noexcept { return *state_; }

 private:
  explicit Launcher(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace jail
