// What one child process of httpd holds: a launcher, a pool of Python jails that wait, and a thread
// that tends the pool. The request threads share it.
#pragma once

#include <httpd.h>
#include <jail_c.h>

struct mod_jail_child;

// In the hook child_init: httpd has left root by then, as which no jail runs, and has no request
// thread yet. Lives as long as `pool`. NULL: the log says why.
struct mod_jail_child* mod_jail_child_start(apr_pool_t* pool, server_rec* server);

// Never advanced by anybody but the thread.
jail_pool* mod_jail_child_jails(struct mod_jail_child* child);
