// The checks of this folder's programs: each prints a line on stderr for a condition that does not
// hold.
#pragma once

#include <jail_c.h>
#include <stdio.h>
#include <string.h>

extern int wrong;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      ++wrong;                                                                \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                         \
  } while (0)

// Requires that the call fails with this status and that its text contains `words`.
#define FAILS(expected, words, call)                                                         \
  do {                                                                                       \
    jail_error error = {.size = sizeof error};                                               \
    const jail_status got = call;                                                            \
    if (got != (expected) || error.status != (expected) || strstr(error.text, words) == 0) { \
      ++wrong;                                                                               \
      fprintf(stderr, "%s:%d: %s is %s, \"%s\"\n", __FILE__, __LINE__, #call,                \
              jail_status_text(got), error.text);                                            \
    }                                                                                        \
  } while (0)

#define REFUSES(words, call) FAILS(JAIL_INVALID, words, call)

#define SUCCEEDS(call)                                                        \
  do {                                                                        \
    jail_error error = {.size = sizeof error};                                \
    const jail_status got = call;                                             \
    if (got != JAIL_OK) {                                                     \
      ++wrong;                                                                \
      fprintf(stderr, "%s:%d: %s is %s, \"%s\"\n", __FILE__, __LINE__, #call, \
              jail_status_text(got), error.text);                             \
    }                                                                         \
  } while (0)

// A spec that launches: argv of `python3 -c program`, the host's root, the default policy.
jail_spec *python_spec(const char *program);

void check_nulls(void);
void check_sizes(const jail_launcher *launcher);
void check_values(const jail_launcher *launcher);
void check_runs(jail_launcher *launcher);
void check_network(void);
void check_threads(jail_launcher *launcher);
