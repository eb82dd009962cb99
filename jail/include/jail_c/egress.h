// Named egress: a way out of a jail that has no route, to the destinations of an allow-list alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "jail_c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The proxy: two processes of its own, executed with an empty environment. They end with its
// handle, or with the last launcher that was started with it (jail_launcher_options), or with this
// process. Any number of threads may use it at once.
typedef struct jail_egress jail_egress;

// An element of arrays, so it never grows.
typedef struct jail_egress_address {
  const char* name;
  const char* address;  // "192.0.2.1"
} jail_egress_address;

typedef struct jail_egress_options {
  size_t size;
  // Names that are not looked up; a name may appear more than once.
  const jail_egress_address* addresses;
  size_t address_count;
  uint32_t connections_per_jail;  // 64
  uint32_t idle_s;                // a connection that carries nothing for this long is cut; 300
  uint32_t connect_s;             // for look-up and connection together; 10
  uint32_t reserved;              // 0
} jail_egress_options;

// Checks whether jail_spec_allow_network() takes the rule, such as "pypi.org:443",
// "*.example.org:443", "10.0.0.0/8:5432", "[2001:db8::/32]:443"; jail/egress.h says what each
// allows.
jail_status jail_egress_check_rule(const char* rule, jail_error* error);

// `options` may be NULL.
jail_status jail_egress_start(const jail_egress_options* options, jail_egress** egress,
                              jail_error* error);
void jail_egress_destroy(jail_egress* egress);
// Readable when decisions wait or the proxy has ended; owned by it. -1 with NULL.
int jail_egress_event_fd(const jail_egress* egress);
// A pidfd, readable when the proxy has ended; owned by it. -1 with NULL.
int jail_egress_process_fd(const jail_egress* egress);

typedef enum jail_egress_event {
  JAIL_EGRESS_DECIDED = 0,  // a request was refused, or allowed, whatever became of it then
  JAIL_EGRESS_ENDED = 1     // a connection that was made is over
} jail_egress_event;

// The verdict on a request.
typedef enum jail_egress_verdict {
  JAIL_EGRESS_REFUSED = 0,
  JAIL_EGRESS_ALLOWED = 1
} jail_egress_verdict;

typedef struct jail_egress_decisions jail_egress_decisions;

// The pointers lead into the decisions; all text is printable ASCII.
typedef struct jail_egress_decision {
  size_t size;
  jail_egress_event event;
  jail_egress_verdict verdict;
  const char* jail;         // the label of jail_spec_allow_network()
  const char* destination;  // as asked for, "pypi.org:443"; empty where that could not be read
  const char* address;      // connected to; empty where none was
  const char* reason;       // the rule that allows it, or why it came to nothing
  uint64_t sent_bytes;      // bytes from the jail, with JAIL_EGRESS_ENDED
  uint64_t received_bytes;  // bytes to the jail, with JAIL_EGRESS_ENDED
  uint64_t dropped;         // earlier decisions that nobody took in time
  uint64_t lasted_ms;       // since it was connected, with JAIL_EGRESS_ENDED
} jail_egress_decision;

// Takes the decisions that wait, the oldest first, at most 1,024 and perhaps none. Never blocks.
// JAIL_CLOSED: the proxy has ended and all was taken, start another.
jail_status jail_egress_take(jail_egress* egress, jail_egress_decisions** decisions,
                             jail_error* error);
void jail_egress_decisions_destroy(jail_egress_decisions* decisions);
size_t jail_egress_decisions_count(const jail_egress_decisions* decisions);
// The decision of that number, from 0. JAIL_INVALID: there are no more.
jail_status jail_egress_decisions_at(const jail_egress_decisions* decisions, size_t index,
                                     jail_egress_decision* decision, jail_error* error);

// Serves a jail that already runs, by rules that its owner may change. `listener` is a listening
// TCP socket of the jail's network, made by jail_take_socket() and bound to 127.0.0.1:3128, where
// the jail has a loopback interface (jail_spec_set_network_loopback()); it stays the caller's. The
// processes of the jail find the proxy by variables such as http_proxy=http://127.0.0.1:3128, which
// the owner gives them. `rules` ends with NULL; `label` may be NULL.
//
// `served` is what jail_egress_request_change() takes; nobody in the jail may have a copy of it or
// of the listener. Closing it, which the caller must do no later than the jail ends, closes the way
// out and every connection by it. Does not wait. JAIL_CLOSED: the proxy has ended.
jail_status jail_egress_serve(const jail_egress* egress, int listener, const char* const* rules,
                              const char* label, int* served, jail_error* error);
// Asks for `rules` in place of those of the jail; none at all closes the way out. Does not wait:
// `served` becomes readable when jail_egress_take_change() has an answer, and no other change may
// be requested before. By one thread at a time. JAIL_CLOSED: the proxy has ended.
jail_status jail_egress_request_change(int served, const char* const* rules, jail_error* error);
// Sets `*holds` to 1 once the requested rules hold, and connections that they do not allow have
// been cut; to 0 before. JAIL_CLOSED: the proxy has ended, or the way out is closed.
jail_status jail_egress_take_change(int served, int* holds, jail_error* error);

#ifdef __cplusplus
}
#endif
