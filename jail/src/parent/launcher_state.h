#pragma once

#include <optional>

#include "jail/launcher.h"
#include "plan/plan.h"

namespace jail {

struct Launcher::State {
  Fd socket;
  Fd process;
  HostFacts host;
  std::optional<CgroupTree> cgroups;
};

}  // namespace jail
