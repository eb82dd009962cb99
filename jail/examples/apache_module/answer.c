#include "answer.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  LEASE_MS = 5000,  // bound on the time in which the pool is too busy to make a jail
  READY_MS = 10000,
  GRACE_MS = 5000  // added to wall_ms, for an init that does not enforce it
};

struct run {
  const struct mod_jail_program* program;
  struct mod_jail_answer* answer;
  jail_jail* jail;
  char* buffer;
  int output;  // -1 once it has ended
};

static jail_status lease(jail_pool* jails, jail_jail** jail, jail_error* error) {
  const apr_time_t deadline = apr_time_now() + apr_time_from_msec(LEASE_MS);
  for (;;) {
    const jail_status status = jail_pool_lease(jails, jail, error);
    if (status != JAIL_EXHAUSTED || apr_time_now() > deadline) return status;
    apr_sleep(apr_time_from_msec(10));
  }
}

static void read_output(struct run* run) {
  struct mod_jail_answer* answer = run->answer;
  const apr_size_t room = run->program->max_output - answer->size;
  char beyond;
  const ssize_t got = read(run->output, room > 0 ? run->buffer + answer->size : &beyond,
                           room > 0 ? room : sizeof beyond);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0 && room > 0) {
    answer->size += (apr_size_t)got;
    return;
  }
  answer->is_too_large = got > 0;
  close(run->output);
  run->output = -1;
}

// Waits until the report has come and the output has ended.
static jail_status follow(struct run* run, jail_error* error) {
  const apr_time_t deadline =
      apr_time_now() + apr_time_from_msec((apr_time_t)run->program->wall_ms + GRACE_MS);
  int control = jail_jail_control_fd(run->jail);
  while (control >= 0 || run->output >= 0) {
    struct pollfd watched[] = {
        {control, POLLIN, 0}, {run->output, POLLIN, 0}, {run->program->client, POLLRDHUP, 0}};
    const apr_time_t left = deadline - apr_time_now();
    if (left <= 0) {
      jail_jail_kill(run->jail, JAIL_ENDED_TIMED_OUT);
      break;
    }
    if (poll(watched, 3, (int)apr_time_as_msec(left) + 1) < 0) continue;
    if (watched[1].revents != 0) read_output(run);
    run->answer->is_abandoned = watched[2].revents != 0;
    if (run->answer->is_abandoned || run->answer->is_too_large) {
      jail_jail_kill(run->jail, JAIL_ENDED_CANCELLED);
      break;
    }
    if (watched[0].revents != 0) {
      jail_phase phase;
      const jail_status status = jail_jail_advance(run->jail, &phase, error);
      if (status != JAIL_OK) return status;
      if (phase == JAIL_PHASE_ENDED) control = -1;
    }
  }
  return jail_jail_report(run->jail, &run->answer->report, error);
}

static jail_status start(struct run* run, jail_error* error) {
  const jail_run_limits limits = {
      .size = sizeof limits, .wall_ms = run->program->wall_ms, .cpu_ms = run->program->wall_ms};
  jail_phase phase;
  jail_status status = jail_jail_wait(run->jail, JAIL_PHASE_READY, READY_MS, &phase, error);
  if (status != JAIL_OK) return status;
  status = jail_jail_write_file(run->jail, "main.py", run->program->text, run->program->size, 0644,
                                error);
  if (status == JAIL_OK) status = jail_jail_start(run->jail, &limits, error);
  if (status != JAIL_OK) return status;
  close(jail_jail_take_stdin(run->jail));  // a program has no input here: it reads end of file
  run->output = jail_jail_take_stdout(run->jail);
  return JAIL_OK;
}

jail_status mod_jail_run(jail_pool* jails, const struct mod_jail_program* program,
                         struct mod_jail_answer* answer, apr_pool_t* pool, jail_error* error) {
  struct run run = {.program = program, .answer = answer, .output = -1};
  memset(answer, 0, sizeof *answer);
  answer->report.size = sizeof answer->report;
  answer->output = run.buffer = apr_palloc(pool, program->max_output);
  jail_status status = lease(jails, &run.jail, error);
  if (status != JAIL_OK) return status;
  status = start(&run, error);
  if (status == JAIL_OK) status = follow(&run, error);
  if (run.output >= 0) close(run.output);
  jail_jail_destroy(run.jail);
  return status;
}
