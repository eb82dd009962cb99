// One isolated process tree, from its launch to the report of how it ended.
#pragma once

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_jail jail_jail;

typedef enum jail_phase {
  JAIL_PHASE_LAUNCHING = 0,  // namespaces and mounts are being made
  JAIL_PHASE_READY = 1,      // files may be written, jail_jail_start() may be called
  JAIL_PHASE_RUNNING = 2,
  JAIL_PHASE_ENDED = 3  // the report is there, every process of the jail is dead or dying
} jail_phase;

typedef enum jail_ended {
  JAIL_ENDED_EXITED = 0,
  JAIL_ENDED_SIGNALED = 1,       // it died of a signal that nobody outside sent
  JAIL_ENDED_TIMED_OUT = 2,      // wall deadline or CPU time used up
  JAIL_ENDED_OUT_OF_MEMORY = 3,  // the jail reached its memory limit
  JAIL_ENDED_VIOLATION = 4,      // the policy killed it
  JAIL_ENDED_KILLED = 5,         // killed from outside, by nobody of this library
  JAIL_ENDED_CANCELLED = 6       // the owner asked for it
} jail_ended;
const char* jail_ended_text(jail_ended ended);  // "timed out"; "unknown" for other values

// What notices if the guest exceeds a limit.
typedef enum jail_enforcer {
  JAIL_ENFORCER_NONE = 0,
  JAIL_ENFORCER_RLIMIT = 1,
  JAIL_ENFORCER_WATCHDOG = 2,
  JAIL_ENFORCER_CGROUP = 3
} jail_enforcer;
const char* jail_enforcer_text(jail_enforcer enforcer);

// Limits of one run; 0 stands for the limit that the jail was made with.
typedef struct jail_run_limits {
  size_t size;
  uint64_t wall_ms;
  uint64_t cpu_ms;
  uint64_t memory_bytes;
} jail_run_limits;

// How the guest ended, what it used and how long each phase took; see jail::ExitReport.
typedef struct jail_report {
  size_t size;
  jail_ended ended;
  int32_t exit_code;        // only with JAIL_ENDED_EXITED, else -1
  int32_t signal;           // with SIGNALED and VIOLATION; SIGKILL where the jail was killed
  jail_enforcer memory_by;  // what held its limits
  jail_enforcer processes_by;
  jail_enforcer cpu_by;
  uint64_t cpu_user_us;
  uint64_t cpu_system_us;
  uint64_t memory_peak_bytes;
  uint64_t set_up_us;   // launch to a jail that is ready
  uint64_t started_us;  // jail_jail_start() to the guest's execve
  uint64_t ran_us;      // execve to the guest's end
  uint64_t ended_us;    // the guest's end to the death of its last process
  // How many processes held the memory when it exceeded its limit; 0 where it never did, and where
  // a cgroup holds the limit.
  uint64_t processes_at_memory_limit;
} jail_report;

void jail_jail_destroy(jail_jail* jail);  // kills what still runs

jail_phase jail_jail_phase(const jail_jail* jail);  // JAIL_PHASE_ENDED for NULL
// Readable, or hung up, when jail_jail_advance() has something to do. Owned by the jail, as the two
// below. -1 with NULL.
int jail_jail_control_fd(const jail_jail* jail);
// A pidfd, readable once every process of the jail is dead. -1 in JAIL_PHASE_LAUNCHING.
int jail_jail_process_fd(const jail_jail* jail);
// For *at(2) calls and jail_collect(), also after the end. -1 before JAIL_PHASE_READY. What is in
// there after the start is the guest's doing: never follow its links.
int jail_jail_working_directory_fd(const jail_jail* jail);

// Takes note of what happened; never blocks. `now` may be NULL. An error means that the jail could
// not be made or its program could not be started, and names the step; the jail is of no use
// afterwards, and every further call fails with the same error.
jail_status jail_jail_advance(jail_jail* jail, jail_phase* now, jail_error* error);
// Blocks until `phase` is reached or passed; at most 24 days. JAIL_TIMED_OUT: the jail goes on.
// Does not read the guest's streams. `now` may be NULL.
jail_status jail_jail_wait(jail_jail* jail, jail_phase phase, uint64_t at_most_ms, jail_phase* now,
                           jail_error* error);
// Creates a file in the working directory, and the directories above it; only in JAIL_PHASE_READY.
// `path` is relative. `content` may be NULL where `length` is 0.
jail_status jail_jail_write_file(jail_jail* jail, const char* path, const void* content,
                                 size_t length, uint32_t mode, jail_error* error);
// Runs the guest; only in JAIL_PHASE_READY. `limits` may be NULL, and are no larger than the jail
// was made for (of a pool: jail_template_set_max()).
jail_status jail_jail_start(jail_jail* jail, const jail_run_limits* limits, jail_error* error);
// Whether the processes of a living jail run; see jail::Activity.
typedef enum jail_activity {
  JAIL_ACTIVITY_ACTIVE = 0,
  JAIL_ACTIVITY_PAUSING = 1,
  JAIL_ACTIVITY_PAUSED = 2
} jail_activity;
// Sends a signal to the guest and to all of its process group. Only for a jail with a guest of its
// own, from jail_jail_start() on. See jail::Jail::signal().
jail_status jail_jail_signal(jail_jail* jail, int number, jail_error* error);
// Stops every process of a living jail until jail_jail_resume(). Does not wait: the activity
// becomes PAUSED by jail_jail_advance() once nothing runs, or ACTIVE again where processes have
// kept each other from being stopped. See jail::Jail::pause().
jail_status jail_jail_pause(jail_jail* jail, jail_error* error);
jail_status jail_jail_resume(jail_jail* jail, jail_error* error);
jail_activity jail_jail_activity(const jail_jail* jail);  // JAIL_ACTIVITY_ACTIVE for NULL
// New limits of a living jail that runs; 0: this one stays.
typedef struct jail_limit_change {
  size_t size;
  uint64_t memory_bytes;
  uint64_t file_bytes;
  uint64_t workspace_bytes;  // takes a tmpfs
  uint64_t tmp_bytes;
  uint32_t processes;
  uint32_t cpu_percent;  // takes a cgroup
} jail_limit_change;
// Changes limits of a living jail, up to those of jail_spec_set_max_limits(): all that are asked
// for, or none. Does not wait: lower ones hold for processes that run once jail_jail_advance() has
// heard so. What a raised limit means for these is with jail::Jail::change_limits().
jail_status jail_jail_change_limits(jail_jail* jail, const jail_limit_change* change,
                                    jail_error* error);
// Whether the limits of the last change hold for every process: 1 or 0. 1 for NULL.
int jail_jail_limits_hold(const jail_jail* jail);
// Asks init to end the jail; the report follows. May be called from any thread, also while another
// one uses the jail, as in jail_jail_wait(), but not while it destroys it.
void jail_jail_cancel(jail_jail* jail);
// Kills the jail at once. The report is there, with `why` as its ending (one of TIMED_OUT,
// OUT_OF_MEMORY, KILLED and CANCELLED), or, where init had begun to take the jail apart, with what
// init knew then. For a deadline that passed unreported.
void jail_jail_kill(jail_jail* jail, jail_ended why);
// The other ends of the guest's streams, non-blocking and close-on-exec, for the caller to close.
// Each can be taken once; after that the function returns -1.
int jail_jail_take_stdin(jail_jail* jail);
int jail_jail_take_stdout(jail_jail* jail);
int jail_jail_take_stderr(jail_jail* jail);
// The owner's side of the guest's terminal, non-blocking. Owned by the jail; -1 where it has none,
// and until jail_jail_advance() has learnt of it, after jail_jail_start().
int jail_jail_terminal_fd(const jail_jail* jail);
jail_status jail_jail_resize(jail_jail* jail, uint32_t columns, uint32_t rows, jail_error* error);
// What a guest wrote. The caller's; it outlives the jail.
typedef struct jail_output jail_output;

// Gives the guest `input`, reads what it writes, and returns when every process of the jail is
// dead. Blocks as long as the guest may run and, where init reports nothing, ten seconds more,
// after which the jail is killed as TIMED_OUT. Keeps up to `max_bytes` of each output; 0: 1 MiB.
// Must be called after jail_jail_start(), before any stream is taken. Raises no SIGPIPE. `input`
// may be NULL where `length` is 0.
jail_status jail_jail_communicate(jail_jail* jail, const void* input, size_t length,
                                  uint64_t max_bytes, jail_output** output, jail_error* error);
void jail_output_destroy(jail_output* output);
// NULL for NULL
const char* jail_output_out(const jail_output* output, size_t* length);  // NULL with NULL
const char* jail_output_err(const jail_output* output, size_t* length);
uint64_t jail_output_out_lost_bytes(const jail_output* output);  // bytes beyond `max_bytes`
uint64_t jail_output_err_lost_bytes(const jail_output* output);

// Must be called in JAIL_PHASE_ENDED, else it returns JAIL_INVALID.
jail_status jail_jail_report(const jail_jail* jail, jail_report* report, jail_error* error);

#ifdef __cplusplus
}
#endif
