// The specification of one jail. argv, root and policy must be set.
#pragma once

#include "jail_c/policy.h"
#include "jail_c/root.h"
#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_spec jail_spec;

typedef struct jail_limits {
  size_t size;
  uint64_t wall_ms;           // from jail_jail_start() on; 5000
  uint64_t cpu_ms;            // user + system of all processes together; 5000
  uint64_t memory_bytes;      // 256 MiB
  uint64_t file_bytes;        // largest single file; 64 MiB
  uint64_t stack_bytes;       // 8 MiB
  uint64_t workspace_bytes;   // 64 MiB
  uint64_t tmp_bytes;         // 64 MiB
  uint32_t cpu_percent;       // percent of one core, where the jail has a cgroup; 100
  uint32_t processes;         // processes and threads; 128
  uint32_t open_files;        // 1024
  uint32_t workspace_inodes;  // 16384
  uint32_t tmp_inodes;        // 16384
  uint32_t reserved;          // 0
} jail_limits;

jail_status jail_spec_new(jail_spec** spec, jail_error* error);
jail_status jail_spec_copy(const jail_spec* from, jail_spec** spec, jail_error* error);
void jail_spec_destroy(jail_spec* spec);

// argv[0] is a path inside the jail; no PATH look-up.
jail_status jail_spec_set_argv(jail_spec* spec, const char* const* argv, jail_error* error);
// "NAME=value"; nothing is inherited.
jail_status jail_spec_set_env(jail_spec* spec, const char* const* env, jail_error* error);
// The default is "/workspace".
jail_status jail_spec_set_working_directory(jail_spec* spec, const char* path, jail_error* error);
// The jail runs no program of its own: processes are spawned into it until it is ended
// (jail_jail_spawn()). argv and env must not be set.
jail_status jail_spec_set_living(jail_spec* spec, jail_error* error);
// A terminal of the jail's own as the guest's standard streams, in place of three pipes
// (jail_jail_terminal_fd()); not of a living jail, whose processes have their own. Both 0: none.
jail_status jail_spec_set_terminal(jail_spec* spec, uint32_t columns, uint32_t rows,
                                   jail_error* error);
// "sandbox" where it is not set.
jail_status jail_spec_set_hostname(jail_spec* spec, const char* hostname, jail_error* error);
jail_status jail_spec_set_root(jail_spec* spec, const jail_root* root, jail_error* error);
// The jail's additions to its root. Each has a reason of one line, `why`, which must not be empty
// and which jail_launcher_explain() shows; jail/spec.h says what is refused and what a guest can do
// with each. A bind is a read-only view of `source` of the host, at `target`.
jail_status jail_spec_add_bind(jail_spec* spec, const char* source, const char* target,
                               jail_node_kind kind, const char* why, jail_error* error);

// Whether programs that lie in a volume may be executed.
typedef enum jail_programs { JAIL_PROGRAMS_REFUSED = 0, JAIL_PROGRAMS_ALLOWED = 1 } jail_programs;
// A volume is the directory `source` of the host itself, writable: a guest's files stay. In a
// living jail its target may be /workspace.
jail_status jail_spec_add_volume(jail_spec* spec, const char* source, const char* target,
                                 jail_programs programs, const char* why, jail_error* error);

// Exactly the access that this process's user must have to a device.
typedef enum jail_device_access {
  JAIL_DEVICE_READ = 0,
  JAIL_DEVICE_READ_WRITE = 1
} jail_device_access;
// A character device of the host, "/dev/kvm", at the same path.
jail_status jail_spec_add_device(jail_spec* spec, const char* path, jail_device_access access,
                                 const char* why, jail_error* error);

// The part of the network that the jail can reach: nothing at all, not even itself; its own
// 127.0.0.1 and ::1, which is the default; or that and the destinations that `rules` name, by way
// of the launcher's jail_egress. `label` names the jail in its decisions and may be NULL.
jail_status jail_spec_set_network_none(jail_spec* spec, jail_error* error);
jail_status jail_spec_set_network_loopback(jail_spec* spec, jail_error* error);
jail_status jail_spec_allow_network(jail_spec* spec, const char* const* rules, const char* label,
                                    jail_error* error);
// Compiles the policy. It takes milliseconds, so a server does it once and copies the spec.
jail_status jail_spec_set_policy(jail_spec* spec, const jail_policy* policy, jail_error* error);
jail_status jail_spec_set_limits(jail_spec* spec, const jail_limits* limits, jail_error* error);
// The most that jail_jail_change_limits() may ask for, no less than the limits. Only of a living
// jail. Where it is not set, limits cannot be raised, nor file systems changed.
jail_status jail_spec_set_max_limits(jail_spec* spec, const jail_limits* limits, jail_error* error);

#ifdef __cplusplus
}
#endif
