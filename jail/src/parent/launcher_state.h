#pragma once

#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "jail/launcher.h"
#include "parent/id_pool.h"
#include "parent/shared_plans.h"
#include "plan/plan.h"

namespace jail {

struct Launcher::State {
  static Launcher make(std::shared_ptr<State> state) { return Launcher(std::move(state)); }

  // A pool keeps it too, longer than its Launcher if need be.
  static const std::shared_ptr<State>& of(const Launcher& launcher) { return launcher.state_; }

  pid_t owner = ::getpid();  // a fork of it has a copy, and does not end the launcher with that
  Fd socket;
  Fd process;
  HostFacts host;
  std::optional<CgroupTree> cgroups;
  std::shared_ptr<const EgressProxy> egress;
  std::shared_ptr<IdRange::State> ids;
  SharedPlans living_plans;
};

}  // namespace jail
