// Included before everything else in each source file of the library, which is compiled with hidden
// visibility: what these headers declare is what others may link against, and needs no mark of its
// own there. The shared library narrows it further, to the names in package/libjail.map.
#pragma once

#pragma GCC visibility push(default)
#include "jail/cgroup.h"
#include "jail/collect.h"
#include "jail/egress.h"
#include "jail/exit_report.h"
#include "jail/fd.h"
#include "jail/jail.h"
#include "jail/launcher.h"
#include "jail/network.h"
#include "jail/policy.h"
#include "jail/pool.h"
#include "jail/result.h"
#include "jail/spec.h"
#include "jail_c.h"
#pragma GCC visibility pop
