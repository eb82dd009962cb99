// The resources of one child process of httpd: a launcher, a pool of waiting Python jails, and a
// thread that tends the pool. The request threads share it.
#pragma once

#include <httpd.h>
#include <jail_c.h>

struct mod_jail_child;

// Must be called in the hook child_init: by then httpd is no longer root, which runs no jails, and
// has no request thread yet. Lives as long as `pool`. Returns NULL on failure; the log says why.
struct mod_jail_child* mod_jail_child_start(apr_pool_t* pool, server_rec* server);

// Only the child's own thread may advance the pool.
jail_pool* mod_jail_child_jails(struct mod_jail_child* child);
