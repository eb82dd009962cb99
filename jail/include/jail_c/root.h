// The read-only tree of files that a guest sees.
#pragma once

#include <time.h>

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_root jail_root;

typedef enum jail_node_kind { JAIL_NODE_DIRECTORY = 0, JAIL_NODE_FILE = 1 } jail_node_kind;

// The host's own /usr and the few files of /etc that programs look up.
jail_status jail_root_host(jail_root** root, jail_error* error);
// The same parts of a directory tree that was built for it. `path` is absolute.
jail_status jail_root_directory(const char* path, jail_root** root, jail_error* error);
jail_status jail_root_empty(jail_root** root, jail_error* error);
void jail_root_destroy(jail_root* root);

// Shows `source` of the host (absolute) read-only at `target`; spec.h says who sees its locks.
jail_status jail_root_bind(jail_root* root, const char* source, const char* target,
                           jail_node_kind kind, jail_error* error);
// Adds a symbolic link, and a small file; `modified` NULL stands for the time at which the jail is
// made.
jail_status jail_root_link(jail_root* root, const char* target, const char* points_to,
                           jail_error* error);
jail_status jail_root_file(jail_root* root, const char* target, const void* content, size_t length,
                           const struct timespec* modified, jail_error* error);

#ifdef __cplusplus
}
#endif
