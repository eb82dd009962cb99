// The process that clones jails.
#pragma once

#include "jail_c/egress.h"
#include "jail_c/id_range.h"
#include "jail_c/jail.h"
#include "jail_c/spec.h"
#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_launcher jail_launcher;

typedef struct jail_launcher_options {
  size_t size;
  // A directory of cgroup v2 that is this user's and holds no process but this one: each jail gets
  // a cgroup below it. NULL: rlimits and a watchdog hold the limits.
  const char* cgroup_directory;
  // The way out of jails with jail_spec_allow_network(); NULL: there is none, and they are refused.
  // It may be given to several launchers.
  const jail_egress* egress;
  // A user and a group of the host for each jail; NULL: all have those of this process. With it a
  // jail shows no volumes, and of the host's files what everybody may read.
  const jail_id_range* ids;
} jail_launcher_options;

typedef struct jail_enforcement {
  size_t size;
  jail_enforcer memory_by;
  jail_enforcer processes_by;
  jail_enforcer cpu_by;
  uint32_t reserved;
} jail_enforcement;

// The cgroup directory of this process, for jail_launcher_options. JAIL_UNSUPPORTED: none is
// visible. The caller gives `path` to jail_text_destroy().
jail_status jail_own_cgroup_directory(char** path, jail_error* error);

// Jails run with this process's user, unless jail_launcher_options.ids has others, and this process
// must not be root. `options` may be NULL. The launcher is a child of this process and ends with
// its handle or with the process.
jail_status jail_launcher_start(const jail_launcher_options* options, jail_launcher** launcher,
                                jail_error* error);
void jail_launcher_destroy(jail_launcher* launcher);  // running jails go on
// Does not wait for the jail to be ready. JAIL_CLOSED: the launcher is gone, start another.
jail_status jail_launcher_launch(const jail_launcher* launcher, const jail_spec* spec,
                                 jail_jail** jail, jail_error* error);
// What jail_launcher_launch() would do, one system call a line. The caller gives the text to
// jail_text_destroy().
jail_status jail_launcher_explain(const jail_launcher* launcher, const jail_spec* spec, char** text,
                                  jail_error* error);
// What holds the limits of its jails.
jail_status jail_launcher_enforcement(const jail_launcher* launcher, jail_enforcement* enforcement,
                                      jail_error* error);
// The version of the running kernel's Landlock, which confines guests in addition to their mounts:
// files from version 2 on, signals and abstract sockets from 6 on. 0: the kernel has none that
// serves. Jails of jail_pool_launch_living() need 6.
int jail_landlock_version(void);
// The same for the guests that are launched here. -1 with NULL.
int jail_launcher_landlock_version(const jail_launcher* launcher);
// A pidfd, readable when the launcher has ended; owned by it. -1 with NULL.
int jail_launcher_process_fd(const jail_launcher* launcher);

#ifdef __cplusplus
}
#endif
