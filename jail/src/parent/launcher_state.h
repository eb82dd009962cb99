#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "jail/launcher.h"
#include "plan/plan.h"

namespace jail {

struct Launcher::State {
  static Launcher make(std::unique_ptr<State> state) { return Launcher(std::move(state)); }

  Fd socket;
  Fd process;
  HostFacts host;
  std::optional<CgroupTree> cgroups;
  std::shared_ptr<const EgressProxy> egress;
};

}  // namespace jail
