// One connection, from its first byte to its last.
#pragma once

#include <jail_c.h>
#include <stdint.h>

#include "source.h"

enum {
  CLIENT_PIECE = 16384,    // bytes of output that are held
  CLIENT_STATUS = 640,     // bytes for the last line
  CLIENT_WAIT_MS = 10000,  // the longest wait for a jail, and then for the jail to be ready
  // How long after the script's deadline init is given up, and how long a client has to read the
  // end of its answer.
  CLIENT_GRACE_MS = 5000
};

enum client_state {
  CLIENT_SENDS,    // it sends its script
  CLIENT_WAITS,    // it waits for a free jail
  CLIENT_READIES,  // its jail is being made
  CLIENT_RUNS,
  CLIENT_TAKES,  // it takes the last bytes of its answer
  CLIENT_GONE    // only the memory is left
};

struct client {
  struct client* next;
  int epoll;
  jail_pool* pool;
  enum client_state state;
  int64_t deadline;  // of the state, by client_clock()
  struct source socket, control, output;
  jail_jail* jail;
  char* script;
  size_t script_size;
  // Output that the client has not taken. Nothing more is read before it has: the pipe fills, and
  // the script waits in write(2).
  char pending[CLIENT_PIECE + CLIENT_STATUS];
  size_t begin, end;
  char last;  // the last byte that was printed
};

// Returns the milliseconds of a clock that nobody sets.
int64_t client_clock(void);

// Takes over `socket`, which must be non-blocking. Returns NULL where there is no memory; the
// socket is then closed.
struct client* client_new(int socket, int epoll, jail_pool* pool);

// Must be called now and then: a jail may have become free, or a deadline may have passed.
void client_tick(struct client* client);

// Must be called only in CLIENT_GONE, and after the round of events in which it ended, since these
// may still lead to it.
void client_destroy(struct client* client);

// For run.c. All except client_enter() may end in CLIENT_GONE.
void client_enter(struct client* client, enum client_state state, int64_t at_most_ms);
void client_watch(struct client* client, struct source* source, uint32_t events);
void client_send(struct client* client);  // sends what is pending, and then starts reading more
void client_finish(struct client* client, const char* status);
