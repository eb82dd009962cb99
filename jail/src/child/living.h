// Init of a jail that processes are spawned into, until its owner ends it.
//
// A process begins as a fork of init, in company that may be hostile. Until its own confinement
// holds, nobody in the jail can reach it: its memory is a copy of init's, which is not dumpable, so
// the kernel refuses /proc/PID/mem, ptrace(2) and /proc/PID/fd to everybody without a capability.
// The process itself has no capability, and has no_new_privs. Other processes of its user can only
// stop or kill it; its owner then hears that it ended without having run. The filter is loaded
// before execve makes it dumpable.
#pragma once

#include "child/wire.h"

namespace jail::child {

// Runs as pid 1 once the plan's first list is done. `base` is the mapped plan; `slots` holds what
// the list has opened. Returns when the jail has ended or its owner is gone; the kernel kills the
// remaining processes when the caller exits.
void supervise_living(const wire::PlanHeader& plan, char* base, long* slots);

}  // namespace jail::child
