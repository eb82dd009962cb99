// libjail for C: an isolated process tree, made straight from the kernel, and pools of warm ones.
// The same library as <jail/jail.h> and the other C++ headers, which say more about each part.
//
// Handles. A type without visible members is made by the library and owned by the caller, who gives
// it up by its _destroy function; NULL there does nothing. A function copies what it is given:
// handles and strings may go as soon as it returns. Strings end in a NUL; a list of strings ends in
// a NULL.
//
// Errors. A function that can fail returns a jail_status and, where `error` is not NULL, says there
// in words what failed. An output parameter is written with JAIL_OK only. NULL, where a value is
// needed, is JAIL_INVALID. No function throws, raises a signal or exits; lack of memory is
// JAIL_EXHAUSTED.
//
// Threads. Nothing here starts a thread, installs a signal handler or reaps a child
// that the library did not start itself. Any number of threads may use a jail_launcher, jail_pool
// or jail_egress at once, and call jail_jail_cancel(); any other handle may be used by one thread
// at a time, or by several that only read it (const). Different handles are independent. No thread
// may use a handle that another one destroys. A thread must not be cancelled (pthread_cancel)
// inside of a call.
//
// Structures. Each begins with `size`, which the caller sets to sizeof of it. In one that the
// caller fills, a member that is 0 has the default that is named beside it, and so has every member
// that the caller's header does not know yet; a member that the library does not know yet must be
// 0, else JAIL_INVALID. In a structure that the library fills, members that it does not know are 0.
//
// Units end names: _ms, _us, _s, _bytes.
#pragma once

#include "jail_c/collect.h"
#include "jail_c/egress.h"
#include "jail_c/id_range.h"
#include "jail_c/jail.h"
#include "jail_c/launcher.h"
#include "jail_c/policy.h"
#include "jail_c/pool.h"
#include "jail_c/process.h"
#include "jail_c/root.h"
#include "jail_c/spec.h"
#include "jail_c/status.h"
