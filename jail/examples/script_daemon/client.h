// One connection, from its first byte to its last.
#pragma once

#include <jail_c.h>
#include <stdint.h>

#include "source.h"

enum {
  CLIENT_PIECE = 16384,    // bytes of output on their way
  CLIENT_STATUS = 640,     // and of the last line
  CLIENT_WAIT_MS = 10000,  // a script waits for a jail at most
  // Beyond a limit of the jail's, for an init that does not hold it and a client that does not
  // read.
  CLIENT_GRACE_MS = 5000
};

enum client_state {
  CLIENT_SENDS,    // its script comes in
  CLIENT_WAITS,    // for a jail to be free
  CLIENT_READIES,  // its jail is being made
  CLIENT_RUNS,
  CLIENT_TAKES,  // the last bytes of its answer
  CLIENT_GONE    // nothing is left but the memory
};

struct client {
  struct client* next;
  int epoll;
  jail_pool* pool;
  enum client_state state;
  int64_t deadline;  // of this state, by client_clock()
  struct source socket, control, output;
  jail_jail* jail;
  char* script;
  size_t script_size;
  // What the script has printed and the client has not taken. Nothing more is read before that is
  // gone: the pipe fills, and the script waits in write(2).
  char pending[CLIENT_PIECE + CLIENT_STATUS];
  size_t begin, end;
  char last;  // byte that was printed
};

// Milliseconds of a clock that nobody sets.
int64_t client_clock(void);

// Takes over `socket`, which is non-blocking. NULL: no memory; the socket is closed.
struct client* client_new(int socket, int epoll, jail_pool* pool);

// To be called now and then: a jail may have become free, a deadline have passed.
void client_tick(struct client* client);

// Only in CLIENT_GONE: events of the round that it ended in may still lead to it.
void client_destroy(struct client* client);

// For run.c. All but client_enter() may end in CLIENT_GONE.
void client_enter(struct client* client, enum client_state state, int64_t at_most_ms);
void client_watch(struct client* client, struct source* source, uint32_t events);
void client_send(struct client* client);  // what is pending, and then more is read
void client_finish(struct client* client, const char* status);
