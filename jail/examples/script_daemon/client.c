#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "run.h"

enum {
  MOST_SCRIPT = 1 << 20,
  SEND_MS = 10000  // a client has to bring its script
};

int64_t client_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void client_enter(struct client* client, enum client_state state, int64_t at_most_ms) {
  client->state = state;
  client->deadline = client_clock() + at_most_ms;
}

// All processes that still run for it are killed with its jail.
void client_leave(struct client* client) {
  client->state = CLIENT_GONE;
  jail_jail_destroy(client->jail);
  client->jail = NULL;
  if (client->output.fd >= 0) close(client->output.fd);
  if (client->socket.fd >= 0) close(client->socket.fd);
  client->output.fd = client->socket.fd = -1;
}

void client_watch(struct client* client, struct source* source, uint32_t events) {
  if (source_watch(client->epoll, source, events) == 0) return;
  perror("script_daemon: epoll_ctl");
  client_leave(client);
}

// Sends what is pending, and then starts reading more.
void client_send(struct client* client) {
  while (client->begin < client->end) {
    const ssize_t sent = send(client->socket.fd, client->pending + client->begin,
                              client->end - client->begin, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {
      client_leave(client);
      return;
    }
    if (sent < 0) {
      // Even with no event to wait for, epoll would keep reporting that the script has closed its
      // end.
      source_forget(client->epoll, &client->output);
      client_watch(client, &client->socket, EPOLLOUT);
      return;
    }
    client->begin += (size_t)sent;
  }
  client->begin = client->end = 0;
  if (client->state == CLIENT_TAKES) {
    client_leave(client);
    return;
  }
  client_watch(client, &client->socket, 0);
  if (client->state != CLIENT_GONE && client->output.fd >= 0) {
    client_watch(client, &client->output, EPOLLIN);
  }
}

// The last line of an answer is always ours: a script that prints a similar one prints it earlier.
void client_finish(struct client* client, const char* status) {
  const size_t room = sizeof client->pending - client->end;
  const int size = snprintf(client->pending + client->end, room, "%sjail: %s\n",
                            client->last == '\n' ? "" : "\n", status);
  client->end += (size_t)size < room ? (size_t)size : room - 1;
  jail_jail_destroy(client->jail);
  client->jail = NULL;
  client_enter(client, CLIENT_TAKES, CLIENT_GRACE_MS);
  client_send(client);
}

// The script is complete where the client ends its side of the connection (shutdown(2)).
static void receive(struct client* client) {
  for (;;) {
    const ssize_t got = read(client->socket.fd, client->script + client->script_size,
                             MOST_SCRIPT - client->script_size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) {
      client_leave(client);
      return;
    }
    if (got == 0) break;
    client->script_size += (size_t)got;
    if (client->script_size == MOST_SCRIPT) {
      client_finish(client, "the script is too large");
      return;
    }
  }
  client_enter(client, CLIENT_WAITS, CLIENT_WAIT_MS);
  client_watch(client, &client->socket, 0);
  if (client->state != CLIENT_GONE) run_lease(client);
}

// EPOLLHUP comes when the client has closed the whole connection, not when it has ended its own
// side: this distinguishes a client that has left from one that has sent everything. Over TCP the
// two look alike, so the length of the script would have to come before it.
static void on_socket(void* owner, uint32_t events) {
  struct client* client = owner;
  if (client->state == CLIENT_GONE) return;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    client_leave(client);
    return;
  }
  if (client->state == CLIENT_SENDS && (events & EPOLLIN) != 0) {
    receive(client);
    return;
  }
  if ((events & EPOLLOUT) != 0) client_send(client);
  run_finish_if_over(client);
}

struct client* client_new(int socket, int epoll, jail_pool* pool) {
  struct client* client = calloc(1, sizeof *client);
  char* script = malloc(MOST_SCRIPT);  // memory pages are allocated as they are written
  if (client == NULL || script == NULL) {
    free(client);
    free(script);
    close(socket);
    return NULL;
  }
  client->epoll = epoll;
  client->pool = pool;
  client->script = script;
  client->last = '\n';
  client->socket = (struct source){.fd = socket, .ready = on_socket, .owner = client};
  client->control = (struct source){.fd = -1, .ready = run_on_control, .owner = client};
  client->output = (struct source){.fd = -1, .ready = run_on_output, .owner = client};
  client_enter(client, CLIENT_SENDS, SEND_MS);
  client_watch(client, &client->socket, EPOLLIN);
  return client;
}

void client_tick(struct client* client) {
  if (client->state == CLIENT_GONE) return;
  if (client->state == CLIENT_WAITS) run_lease(client);
  if (client->state != CLIENT_GONE && client_clock() > client->deadline) client_leave(client);
}

void client_destroy(struct client* client) {
  free(client->script);
  free(client);
}
