// One process that was spawned into a living jail (jail_spec_set_living()); see jail/process.h.
#pragma once

#include "jail_c/jail.h"
#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// Processes of one jail have one user: any of them can stop, kill and read another one, and write
// to its output. Its report alone cannot be forged.
typedef struct jail_process jail_process;

// How far a process has come; the values grow as it goes on.
typedef enum jail_process_progress {
  JAIL_PROCESS_STARTING = 0,  // being made
  JAIL_PROCESS_RUNNING = 1,   // its program has begun; skipped if it was ended before
  JAIL_PROCESS_ENDED = 2      // the report is there; what it has started may go on in the jail
} jail_process_progress;

// What a process has in addition to its arguments and its environment.
typedef struct jail_process_options {
  size_t size;
  const char* working_directory;  // NULL: that of the jail
  uint64_t wall_ms;               // from jail_jail_spawn() on; 0: as long as the jail
  uint64_t cpu_ms;                // user + system of this process alone; 0: as for the jail
  // The size of a terminal of the jail's own, which replaces the three pipes; both 0: none.
  uint32_t terminal_columns;
  uint32_t terminal_rows;
  // Not 0: the process is a fork of the template's zygote, which has imported its modules. Only in
  // a jail of jail_pool_launch_living(). argv[0] is then the program's file, beside the template's
  // own one.
  uint64_t warm;
} jail_process_options;

// Starts a process in a living jail that was started; up to 64 that have not ended at a time, and
// up to 256 that have not ended or have left processes of theirs behind. Does not wait. argv[0] is
// a path inside the jail; `env` has "NAME=value", and may be NULL as `options` may. The process
// does not outlive the jail's end.
jail_status jail_jail_spawn(const jail_jail* jail, const char* const* argv, const char* const* env,
                            const jail_process_options* options, jail_process** process,
                            jail_error* error);

// Opens a regular file or directory of a living jail by an absolute path of the jail; links lead
// nowhere outside. `flags` and `mode` are those of open(2). The caller must close the descriptor. A
// directory's descriptor is no fence: openat(2) on it follows a guest's links anywhere on the host.
jail_status jail_jail_open_file(const jail_jail* jail, const char* path, int flags, uint32_t mode,
                                int* fd, jail_error* error);

// Asks for a TCP socket in the network of a living jail that was started, by which its owner
// connects to 127.0.0.1, or ::1 where `ipv6` is not 0, of the jail; no port of the host is opened.
// Does not wait: `request` becomes readable when jail_take_socket() has something to do, and the
// caller must close it, which gives the socket up.
jail_status jail_jail_request_socket(const jail_jail* jail, int ipv6, int* request,
                                     jail_error* error);
// Takes the socket that was asked for by `request`: not connected, non-blocking, owned by the
// caller; -1: it is not there yet. A connection leads to this jail's server only if
// jail_jail_process_fd() is not readable after connect(2) has succeeded: its network may serve
// another jail once this one has ended.
jail_status jail_take_socket(int request, int* socket, jail_error* error);

// Kills the process and its process group if it has not ended.
void jail_process_destroy(jail_process* process);

jail_process_progress jail_process_phase(const jail_process* process);  // ENDED for NULL
// Readable, or hung up, when jail_process_advance() has something to do. Owned by the process. -1
// with NULL.
int jail_process_control_fd(const jail_process* process);
// The process id in the jail; 0 until jail_process_advance() has learnt it, and with NULL.
int jail_process_pid(const jail_process* process);
// The owner's side of its terminal, non-blocking. Owned by the process; -1 where it has none, and
// until jail_process_advance() has learnt of it.
int jail_process_terminal_fd(const jail_process* process);
// The other ends of its streams, for the caller to close. Each can be taken once; after that the
// function returns -1.
int jail_process_take_stdin(jail_process* process);
int jail_process_take_stdout(jail_process* process);
int jail_process_take_stderr(jail_process* process);

// Takes note of what happened; never blocks. `now` may be NULL. An error means that the process
// could not be made or that its program could not be started.
jail_status jail_process_advance(jail_process* process, jail_process_progress* now,
                                 jail_error* error);
// Blocks until `progress` is reached or passed; at most 24 days. JAIL_TIMED_OUT: it goes on.
jail_status jail_process_wait(jail_process* process, jail_process_progress progress,
                              uint64_t at_most_ms, jail_process_progress* now, jail_error* error);
// It is no error that a process has ended and is not reached.
jail_status jail_process_signal(jail_process* process, int number, jail_error* error);
jail_status jail_process_signal_group(jail_process* process, int number, jail_error* error);
jail_status jail_process_resize(jail_process* process, uint32_t columns, uint32_t rows,
                                jail_error* error);
// Gives the process `input`, reads what it writes, and returns when it has ended, with what was
// written by then; otherwise as jail_jail_communicate().
jail_status jail_process_communicate(jail_process* process, const void* input, size_t length,
                                     uint64_t max_bytes, jail_output** output, jail_error* error);
// Must be called in JAIL_PROCESS_ENDED, else it returns JAIL_INVALID. The time that the process ran
// is 0 if and only if it was ended before its program began.
jail_status jail_process_report(const jail_process* process, jail_report* report,
                                jail_error* error);

#ifdef __cplusplus
}
#endif
