// The outcome of a call, and the version of the library.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this header.
#define JAIL_VERSION "0.1.0"
// The version of the library that runs.
const char* jail_version(void);

// The outcome of a call, on which alone depends what a caller can do about a failure; see
// jail::ErrorKind.
typedef enum jail_status {
  JAIL_OK = 0,
  JAIL_INVALID = 1,      // what the caller asked for cannot be expressed or is out of range
  JAIL_REFUSED = 2,      // the host or a rule of this library forbids it
  JAIL_UNSUPPORTED = 3,  // the kernel lacks what is needed
  JAIL_EXHAUSTED = 4,    // a limit of the host is reached
  JAIL_KERNEL = 5,       // a system call failed for another reason
  JAIL_CLOSED = 6,       // the other side (launcher, jail) is gone
  JAIL_TIMED_OUT = 7     // the caller's time limit passed; what was waited for goes on
} jail_status;
const char* jail_status_text(jail_status status);  // "invalid"; "unknown" for other values

// Lies on the caller's stack, so that it can report a lack of memory. It is not written with
// JAIL_OK, nor where `size` is not set.
typedef struct jail_error {
  size_t size;
  jail_status status;
  int32_t sys_errno;  // 0 when no system call was involved
  char text[512];     // "mount /usr read-only (step 9 of 22): Operation not permitted. Hint: ..."
} jail_error;

// Frees a text that a function handed out, as jail_launcher_explain() does.
void jail_text_destroy(char* text);

#ifdef __cplusplus
}
#endif
