#pragma once

#include <array>
#include <chrono>

#include "jail/jail.h"
#include "plan/plan.h"

namespace jail {

struct Jail::State {
  Phase phase = Phase::launching;
  Plan plan;  // kept for the names of its steps
  Limits limits;
  Fd control;
  Fd process;    // pidfd of init, once the launcher sent it
  Fd workspace;  // directory of the working tmpfs, once init is ready
  std::array<Fd, 3> streams;
  ExitReport report;
  std::chrono::steady_clock::time_point launched_at;
};

}  // namespace jail
