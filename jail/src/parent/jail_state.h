#pragma once

#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "jail/cgroup.h"
#include "jail/jail.h"
#include "plan/plan.h"

namespace jail {

enum class LimitedBy { init, cgroup };

Enforcement enforcement_of(LimitedBy by) noexcept;

struct Jail::State {
  static Jail make(std::unique_ptr<State> state) { return Jail(std::move(state)); }
  static void keep(Jail& jail, std::shared_ptr<void> token) {
    jail.state_->token = std::move(token);
  }

  // Completes the report by what only the cgroup knows.
  void add_accounting();

  Phase phase = Phase::launching;
  pid_t owner = ::getpid();          // a fork of it has a copy, and does not end the jail with that
  std::shared_ptr<const Plan> plan;  // kept for the names of its steps
  Limits limits;
  std::uint64_t most_memory_bytes = 0;  // that start() may ask for
  std::chrono::milliseconds most_cpu{0};
  Fd control;
  Fd process;    // pidfd of init, once the launcher sent it
  Fd workspace;  // directory of the working tmpfs, once init is ready
  std::array<Fd, 3> streams;
  std::optional<CgroupLeaf> cgroup;
  ExitReport report;
  std::chrono::steady_clock::time_point launched_at;
  std::shared_ptr<void> token;  // whose loss tells a pool that the jail was given up
};

}  // namespace jail
