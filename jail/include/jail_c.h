// libjail for C: an isolated process tree, made straight from the kernel, and pools of warm ones.
// The same library as <jail/jail.h> and the other C++ headers, which say more about each part.
//
// Handles. A type without visible members is made by the library and owned by the caller, who gives
// it up by its _destroy function; NULL there does nothing. What a function takes it copies: handles
// and strings may go as soon as it returns. Strings end in a NUL; a list of strings ends in a NULL.
//
// Errors. A function that can fail returns a jail_status and, where `error` is not NULL, says there
// in words what failed. An output parameter is written with JAIL_OK only. NULL, where a value is
// needed, is JAIL_INVALID. No exception, no signal, no exit: no memory is JAIL_EXHAUSTED.
//
// Threads. Nothing here starts a thread, handles a signal or waits for a child. jail_launcher,
// jail_pool and jail_egress may be used by any number of threads at once; every other handle by one
// thread at a time, or by several that only read it (const), and jail_jail_cancel() by any.
// Different handles are independent. Nobody may use what another thread destroys. A thread must not
// be cancelled (pthread_cancel) inside of a call.
//
// Structures. Each begins with `size`, which the caller sets to sizeof of it. In one that the
// caller fills, a member that is 0 has the default that is named beside it, and so has every member
// that the caller's header does not know yet; a member that the library does not know yet must be
// 0, else JAIL_INVALID. In one that the library fills, what it does not know is 0.
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
