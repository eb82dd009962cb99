// The limits of jails from what requests and operators say.
#pragma once

#include <cstdint>

#include "jail/spec.h"
#include "runtime/sandbox/living_request.h"

namespace runtime {

void limit_disk(jail::Limits& limits, std::uint32_t disk_limit_mb);

// What an operator allows each jail.
struct OperatorLimits {
  std::uint32_t memory_mb = 0;
  std::uint32_t cpu_percent = 0;
};

// The most that `limits`, those of the request, can be changed to.
jail::Limits max_limits_of(const LivingRequest& request, jail::Limits limits,
                           const OperatorLimits& most);

}  // namespace runtime
