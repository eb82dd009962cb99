// The launcher, and a pool of Python jails that wait for scripts.
#pragma once

#include <jail_c.h>

struct jails {
  jail_launcher* launcher;
  jail_pool* pool;
};

// Returns -1 on failure, and `error` says why. `jails` must be closed in any case.
int jails_open(struct jails* jails, jail_error* error);
void jails_close(struct jails* jails);
