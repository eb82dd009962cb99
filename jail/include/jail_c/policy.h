// The system calls that a guest may make: an allow-list with a reason for each rule.
#pragma once

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jail_policy jail_policy;

// How the argument compares.
typedef enum jail_test_op {
  JAIL_TEST_EQUAL = 0,     // (argument & mask) == value
  JAIL_TEST_NOT_EQUAL = 1  // (argument & mask) != value
} jail_test_op;

// One condition on the low 32 bits of one argument. An element of arrays: never grows.
typedef struct jail_argument_test {
  uint32_t argument;  // 0 to 5
  jail_test_op op;
  uint32_t mask;  // 0: all bits
  uint32_t value;
} jail_argument_test;

// The policy that ships with the library.
jail_status jail_policy_default(jail_policy** policy, jail_error* error);
// A policy that refuses every call with ENOSYS.
jail_status jail_policy_new(const char* name, jail_policy** policy, jail_error* error);
jail_status jail_policy_copy(const jail_policy* from, jail_policy** policy, jail_error* error);
void jail_policy_destroy(jail_policy* policy);

// Adds a rule for the calls of that name for which all `tests` hold; `tests` may be NULL where
// `count` is 0, and the rule then decides all other calls of that name. `why` must not be empty.
// jail_spec_set_policy() finds rules that contradict each other and unknown names of calls.
jail_status jail_policy_allow(jail_policy* policy, const char* syscall,
                              const jail_argument_test* tests, size_t count, const char* why,
                              jail_error* error);
// The call returns -1 with errno `error_number`, 1 to 4095.
jail_status jail_policy_refuse(jail_policy* policy, const char* syscall, int error_number,
                               const jail_argument_test* tests, size_t count, const char* why,
                               jail_error* error);
// The whole process dies of SIGSYS.
jail_status jail_policy_kill(jail_policy* policy, const char* syscall,
                             const jail_argument_test* tests, size_t count, const char* why,
                             jail_error* error);
// Allows what shells do with a terminal of the jail's own (jail_process_options), as
// jail::terminal_rules() does.
jail_status jail_policy_allow_terminals(jail_policy* policy, jail_error* error);
// Removes all rules for one call. JAIL_INVALID where there is none.
jail_status jail_policy_drop(jail_policy* policy, const char* syscall, jail_error* error);
// The outcome of calls that no rule names; ENOSYS where neither function was called.
jail_status jail_policy_refuse_others(jail_policy* policy, int error_number, jail_error* error);
jail_status jail_policy_kill_others(jail_policy* policy, jail_error* error);

#ifdef __cplusplus
}
#endif
