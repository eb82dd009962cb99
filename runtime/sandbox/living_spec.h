// What the specs of jails have by requests and options.
#pragma once

#include <chrono>
#include <cstdint>

#include "jail/spec.h"
#include "runtime/jail_file/jail_file.h"
#include "runtime/sandbox/jail_limits.h"
#include "runtime/sandbox/living_request.h"

namespace runtime {

// The processor time that a run may use, in proportion to its deadline. A program that keeps more
// cores busy than it is given uses its time up sooner, where nothing slows it down.
std::chrono::milliseconds cpu_within(std::chrono::milliseconds wall, std::uint32_t cpu_percent);

void add_jail_file(jail::JailSpec& spec, const JailFile& file);

// All but the root and the filter. `file` may be null.
jail::JailSpec living_spec(const LivingRequest& request, const OperatorLimits& most,
                           const JailFile* file);

}  // namespace runtime
