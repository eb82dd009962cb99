// Runs the calls of a plan, in order, until one fails. The only code between clone3 and the guest.
#pragma once

#include "child/wire.h"

namespace jail::child {

struct Failure {
  std::int32_t index = -1;  // -1: every call succeeded
  std::int32_t error = 0;
};

// `base` is the start of the mapped plan; `slots` has wire::slot_count elements.
Failure apply(const wire::Call* calls, std::uint32_t count, char* base, long* slots);

}  // namespace jail::child
