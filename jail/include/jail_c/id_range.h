// Users and groups of the host for jails, of which each has one of its own; jail/id_range.h says
// what for.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The range that this process has entered, for jail_launcher_options.
typedef struct jail_id_range jail_id_range;

typedef struct jail_id_range_options {
  size_t size;
  // Started as root: the first of `count` users and groups that belong to nobody else. As another
  // user, 0: those that /etc/subuid and /etc/subgid give this user.
  uint32_t first_uid;
  uint32_t first_gid;
  uint32_t count;
  // Started as root: the user and group that this process becomes, as the owner of its jails.
  uint32_t uid;
  uint32_t gid;
  uint32_t reserved;  // 0
} jail_id_range_options;

// Called once, before this process has a second thread; there is no way back. `options` may be NULL
// where this process is not root's.
jail_status jail_id_range_enter(const jail_id_range_options* options, jail_id_range** range,
                                jail_error* error);
void jail_id_range_destroy(jail_id_range* range);  // this process stays in it

typedef struct jail_acting jail_acting;

// From here to jail_acting_end() this thread makes and opens files as the user to whom a jail's
// directory belongs, where that is one of the range: jail_jail_working_directory_fd(), or one from
// jail_jail_open_file(). The library's own functions do so themselves. Both calls are one thread's.
jail_status jail_act_as_owner_of(int directory, jail_acting** acting, jail_error* error);
void jail_acting_end(jail_acting* acting);

#ifdef __cplusplus
}
#endif
