// The launcher, and a pool of Python jails that wait for scripts.
#pragma once

#include <jail_c.h>

struct jails {
  jail_launcher* launcher;
  jail_pool* pool;
};

// Returns -1 and has `error` say why. `jails` is to be closed in any case.
int jails_open(struct jails* jails, jail_error* error);
void jails_close(struct jails* jails);
