// Init, pid 1 of a jail: waits for the order to start, runs the guest, watches its limits, reports
// how it ended.
#pragma once

#include "child/wire.h"

namespace jail::child {

// Returns when the jail is over: when init exits, the kernel kills whatever is left in it.
// `guest_work` holds wire::GuestWork bits, for a forked guest.
void supervise(const wire::PlanHeader& plan, char* base, long* slots, std::uint32_t guest_work);

}  // namespace jail::child
