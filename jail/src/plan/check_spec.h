// Whether a spec can be compiled at all, by what it says alone.
#pragma once

#include "jail/result.h"
#include "jail/spec.h"
#include "plan/plan.h"

namespace jail {

// Errors: ErrorKind::invalid or refused, naming the field of the spec.
Result<void> check_spec(const JailSpec& spec, const HostFacts& host);

// The part that is about binds, volumes and devices (check_extras.cc).
Result<void> check_extras(const JailSpec& spec);

}  // namespace jail
