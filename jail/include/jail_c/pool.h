// Jails that wait, made and confined ahead of the request that needs one.
#pragma once

#include "jail_c/jail.h"
#include "jail_c/launcher.h"
#include "jail_c/spec.h"
#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_template jail_template;
typedef struct jail_pool jail_pool;

typedef enum jail_warmth {
  JAIL_WARMTH_PREPARED = 0,  // the jail stands; the start executes the program
  JAIL_WARMTH_STARTED = 1,   // an interpreter waits where its program's file will be
  JAIL_WARMTH_FORKED = 2     // a fork of a warm CPython waits before its first line
} jail_warmth;

typedef enum jail_optimization {
  JAIL_OPTIMIZATION_ON = 0,
  JAIL_OPTIMIZATION_OFF = 1
} jail_optimization;
typedef enum jail_frozen_heap {
  JAIL_FROZEN_HEAP_IF_LARGE = 0,
  JAIL_FROZEN_HEAP_NEVER = 1,
  JAIL_FROZEN_HEAP_ALWAYS = 2
} jail_frozen_heap;

// The optimizations that make forked jails cheap, which can be turned off one by one; see pool.h.
typedef struct jail_fork_optimizations {
  size_t size;
  jail_optimization rehearsal;
  jail_optimization early_end;
  jail_optimization network_reuse;
  jail_frozen_heap frozen_heap;
  jail_optimization known_pages;
  uint32_t reserved;  // 0
  jail_optimization immortal_objects;
  jail_optimization fresh_memory;
} jail_fork_optimizations;

// `name` is 1 to 32 of a-z, 0-9, '-' and '_'; `spec` as for a cold launch of the same program.
jail_status jail_template_new(const char* name, jail_warmth warmth, const jail_spec* spec,
                              jail_template** templ, jail_error* error);
void jail_template_destroy(jail_template* templ);
// The most that a start may ask for; 0 stands for 2 GiB and for one minute.
jail_status jail_template_set_max(jail_template* templ, uint64_t memory_bytes, uint64_t cpu_ms,
                                  jail_error* error);
// Trusted Python of a forked template: modules to import, code to run after them, code to run in
// each jail before it is ready, and code that touches what programs use and changes nothing. NULL:
// none.
jail_status jail_template_set_imports(jail_template* templ, const char* const* modules,
                                      jail_error* error);
jail_status jail_template_set_warm_up(jail_template* templ, const char* python, jail_error* error);
jail_status jail_template_set_after_fork(jail_template* templ, const char* python,
                                         jail_error* error);
jail_status jail_template_set_rehearsal(jail_template* templ, const char* python,
                                        jail_error* error);
jail_status jail_template_set_optimizations(jail_template* templ,
                                            const jail_fork_optimizations* optimizations,
                                            jail_error* error);

#define JAIL_POOL_NONE UINT32_MAX  // for least and usual, where 0 stands for the default
typedef struct jail_pool_options {
  size_t size;
  uint32_t least;             // jails that are kept ready while there are no requests; 2
  uint32_t usual;             // the target to begin with; 8
  uint32_t most;              // 64
  uint32_t forks_per_zygote;  // before a new one takes over; 10,000
  uint64_t zygote_age_s;      // the same; 600
} jail_pool_options;

typedef struct jail_pool_state {
  size_t size;
  uint32_t ready;      // wait to be leased
  uint32_t refilling;  // are being made
  uint32_t leased;     // leased and not yet destroyed
  uint32_t target;     // how many the pool wants ready
  uint64_t leases;     // since it was opened
  uint64_t misses;     // leases for which a jail was made on demand
  uint64_t zygotes;    // started so far
  uint64_t failures;   // jails and zygotes that could not be made
  char trouble[512];   // why no jail can be made; empty while all is well
} jail_pool_state;

// Does not wait: jails become ready while jail_pool_advance() is called, and no more are made when
// `launcher` was destroyed. `options` may be NULL.
jail_status jail_pool_open(const jail_launcher* launcher, const jail_template* templ,
                           const jail_pool_options* options, jail_pool** pool, jail_error* error);
void jail_pool_destroy(jail_pool* pool);  // kills the jails that wait; leased ones go on
// Readable when jail_pool_advance() has something to do. Owned by the pool. -1 with NULL.
int jail_pool_event_fd(const jail_pool* pool);
// Takes note of what happened and refills. Never blocks.
jail_status jail_pool_advance(jail_pool* pool, jail_error* error);
// Takes a jail that nobody has used: ready, or being made where none was. JAIL_EXHAUSTED: try
// again.
jail_status jail_pool_lease(jail_pool* pool, jail_jail** jail, jail_error* error);
// Makes a jail on demand for a program with `arguments` after the template's argv, and with `env`
// in place of the template's. Either may be NULL: none. JAIL_UNSUPPORTED unless JAIL_WARMTH_FORKED.
jail_status jail_pool_launch(jail_pool* pool, const char* const* arguments, const char* const* env,
                             jail_jail** jail, jail_error* error);
// Makes a living jail of the template, in which processes can be warm (jail_process_options). Its
// processes neither signal nor see each other. JAIL_UNSUPPORTED also before Linux 6.12.
jail_status jail_pool_launch_living(jail_pool* pool, jail_jail** jail, jail_error* error);
// The same with limits of its own in place of the template's, which may be larger than those, and
// with the most that jail_jail_change_limits() may ask for; NULL: limits cannot be raised.
jail_status jail_pool_launch_living_within(jail_pool* pool, const jail_limits* limits,
                                           const jail_limits* max_limits, jail_jail** jail,
                                           jail_error* error);
// Ends one jail that waits and that nobody has asked for, which frees its descriptors, processes
// and memory for others. Its successor is made only later. `given_up` becomes 1, or 0 where there
// was none.
jail_status jail_pool_give_up_one(jail_pool* pool, int* given_up, jail_error* error);
jail_status jail_pool_read_state(const jail_pool* pool, jail_pool_state* state, jail_error* error);

#ifdef __cplusplus
}
#endif
