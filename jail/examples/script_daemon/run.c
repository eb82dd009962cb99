#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WALL_MS = 5000 };  // the deadline of a script, which init enforces

static void finish_with_report(struct client* client) {
  jail_report report = {.size = sizeof report};
  jail_error error = {.size = sizeof error};
  char text[64];
  if (jail_jail_report(client->jail, &report, &error) != JAIL_OK) {
    client_finish(client, error.text);
    return;
  }
  if (report.ended == JAIL_ENDED_EXITED) {
    snprintf(text, sizeof text, "exited %d", report.exit_code);
  } else if (report.ended == JAIL_ENDED_SIGNALED) {
    snprintf(text, sizeof text, "signaled %d", report.signal);
  } else {
    snprintf(text, sizeof text, "%s", jail_ended_text(report.ended));
  }
  client_finish(client, text);
}

// Both must have come, in either order: the report, and the end of the output.
void run_finish_if_over(struct client* client) {
  if (client->state == CLIENT_RUNS && client->output.fd < 0 && client->begin == client->end &&
      jail_jail_phase(client->jail) == JAIL_PHASE_ENDED) {
    finish_with_report(client);
  }
}

void run_on_output(void* owner, uint32_t events) {
  struct client* client = owner;
  if (client->state != CLIENT_RUNS || client->begin < client->end || events == 0) return;
  const ssize_t got = read(client->output.fd, client->pending, CLIENT_PIECE);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    client->end = (size_t)got;
    client->last = client->pending[got - 1];
    client_send(client);
    return;
  }
  close(client->output.fd);
  client->output.fd = -1;
  run_finish_if_over(client);
}

static void start(struct client* client) {
  const jail_run_limits limits = {.size = sizeof limits, .wall_ms = WALL_MS, .cpu_ms = WALL_MS};
  jail_error error = {.size = sizeof error};
  jail_status status = jail_jail_write_file(client->jail, "main.py", client->script,
                                            client->script_size, 0644, &error);
  if (status == JAIL_OK) status = jail_jail_start(client->jail, &limits, &error);
  if (status != JAIL_OK) {
    client_finish(client, error.text);
    return;
  }
  free(client->script);
  client->script = NULL;
  close(jail_jail_take_stdin(client->jail));  // a script has no input here: it reads end of file
  client->output.fd = jail_jail_take_stdout(client->jail);
  client_enter(client, CLIENT_RUNS, WALL_MS + CLIENT_GRACE_MS);
  client_watch(client, &client->output, EPOLLIN);
}

void run_on_control(void* owner, uint32_t events) {
  struct client* client = owner;
  jail_error error = {.size = sizeof error};
  jail_phase phase;
  (void)events;
  if (client->jail == NULL) return;
  if (jail_jail_advance(client->jail, &phase, &error) != JAIL_OK) {
    source_forget(client->epoll, &client->control);
    client_finish(client, error.text);
    return;
  }
  if (phase == JAIL_PHASE_READY && client->state == CLIENT_READIES) {
    start(client);
    return;
  }
  if (phase != JAIL_PHASE_ENDED) return;
  source_forget(client->epoll, &client->control);  // it stays readable from now on
  if (client->state == CLIENT_READIES) {
    finish_with_report(client);
    return;
  }
  run_finish_if_over(client);
}

void run_lease(struct client* client) {
  jail_error error = {.size = sizeof error};
  const jail_status status = jail_pool_lease(client->pool, &client->jail, &error);
  if (status == JAIL_EXHAUSTED) return;  // too many are being made: try again at the next tick
  if (status != JAIL_OK) {
    client_finish(client, error.text);
    return;
  }
  client_enter(client, CLIENT_READIES, CLIENT_WAIT_MS);
  client->control.fd = jail_jail_control_fd(client->jail);
  client_watch(client, &client->control, EPOLLIN);
  if (client->state != CLIENT_GONE) run_on_control(client, 0);  // it may be ready already
}
