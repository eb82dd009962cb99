#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "jail/cgroup.h"
#include "jail/jail.h"
#include "plan/plan.h"

namespace jail {

enum class LimitedBy { init, cgroup };

Enforcement enforcement_of(LimitedBy by) noexcept;

struct Jail::State {
  // Completes the report by what only the cgroup knows.
  void add_accounting();

  Phase phase = Phase::launching;
  Plan plan;  // kept for the names of its steps
  Limits limits;
  Fd control;
  Fd process;    // pidfd of init, once the launcher sent it
  Fd workspace;  // directory of the working tmpfs, once init is ready
  std::array<Fd, 3> streams;
  std::optional<CgroupLeaf> cgroup;
  ExitReport report;
  std::chrono::steady_clock::time_point launched_at;
};

}  // namespace jail
