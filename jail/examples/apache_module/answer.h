// One program in one jail, for a request thread that has nothing else to do meanwhile.
#pragma once

#include <apr_pools.h>
#include <jail_c.h>

struct mod_jail_program {
  const char* text;
  apr_size_t size;
  uint64_t wall_ms;
  apr_size_t max_output;
  int client;  // the client's socket: its end ends the jail
};

struct mod_jail_answer {
  jail_report report;
  const char* output;  // allocated in the pool
  apr_size_t size;
  int is_too_large;  // it printed more than is allowed
  int is_abandoned;  // the client has left
};

// JAIL_OK: the program ran, and `answer` says how it ended. Otherwise `error` says what failed
// here.
jail_status mod_jail_run(jail_pool* jails, const struct mod_jail_program* program,
                         struct mod_jail_answer* answer, apr_pool_t* pool, jail_error* error);
