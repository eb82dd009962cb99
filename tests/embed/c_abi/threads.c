// Four threads that share one launcher and one pool.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

enum { threads = 4, rounds = 5, patience_ms = 60000 };

struct shared {
  const jail_launcher *launcher;
  const jail_spec *spec;
  jail_pool *pool;
  atomic_int answers;
};

// Reads the guest's output once the jail has ended: all of it fits into the pipe.
static int prints_42(jail_jail *jail) {
  char text[16] = {0};
  const int out = jail_jail_take_stdout(jail);
  const ssize_t got = read(out, text, sizeof text - 1);
  close(out);
  return got == 3 && strcmp(text, "42\n") == 0;
}

static int runs(jail_jail *jail) {
  static const char program[] = "print(6*7)";
  jail_error error = {.size = sizeof error};
  jail_status status = jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error);
  if (status == JAIL_OK)
    status = jail_jail_write_file(jail, "main.py", program, strlen(program), 0644, &error);
  if (status == JAIL_OK) status = jail_jail_start(jail, NULL, &error);
  if (status == JAIL_OK) status = jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error);
  if (status != JAIL_OK) fprintf(stderr, "a thread's jail: %s\n", error.text);
  return status == JAIL_OK && prints_42(jail);
}

// Tries again where the pool is already making as many jails at once as it may.
static jail_status lease(jail_pool *pool, jail_jail **jail, jail_error *error) {
  for (int tries = 0; tries < patience_ms; ++tries) {
    const jail_status status = jail_pool_lease(pool, jail, error);
    if (status != JAIL_EXHAUSTED) return status;
    jail_pool_advance(pool, NULL);
    usleep(1000);
  }
  return JAIL_EXHAUSTED;
}

static void *work(void *argument) {
  struct shared *shared = argument;
  for (int round = 0; round < rounds; ++round) {
    jail_error error = {.size = sizeof error};
    jail_jail *cold = NULL;
    jail_jail *warm = NULL;
    if (jail_launcher_launch(shared->launcher, shared->spec, &cold, &error) != JAIL_OK ||
        lease(shared->pool, &warm, &error) != JAIL_OK) {
      fprintf(stderr, "a thread: %s\n", error.text);
    } else {
      atomic_fetch_add(&shared->answers, runs(cold) + runs(warm));
    }
    jail_jail_destroy(cold);
    jail_jail_destroy(warm);
    jail_pool_advance(shared->pool, NULL);
  }
  return NULL;
}

void check_threads(jail_launcher *launcher) {
  static const char *const argv[] = {"/usr/bin/python3", "main.py", NULL};
  pthread_t workers[threads];
  jail_template *templ = NULL;
  jail_spec *spec = python_spec("");
  jail_pool_options options = {.size = sizeof options, .least = 1, .usual = 2, .most = 4};
  struct shared shared = {.launcher = launcher, .spec = spec};
  SUCCEEDS(jail_spec_set_argv(spec, argv, &error));
  SUCCEEDS(jail_template_new("threads", JAIL_WARMTH_FORKED, spec, &templ, &error));
  SUCCEEDS(jail_pool_open(launcher, templ, &options, &shared.pool, &error));
  jail_template_destroy(templ);
  if (shared.pool == NULL) return;
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&workers[i], NULL, work, &shared) != 0) abort();
  }
  for (int i = 0; i < threads; ++i) pthread_join(workers[i], NULL);
  CHECK(atomic_load(&shared.answers) == 2 * threads * rounds);
  int given_up = 0;
  for (int tries = 0; tries < patience_ms && given_up == 0; ++tries) {
    jail_pool_advance(shared.pool, NULL);
    SUCCEEDS(jail_pool_give_up_one(shared.pool, &given_up, &error));
    usleep(1000);
  }
  CHECK(given_up == 1);
  jail_pool_destroy(shared.pool);
  jail_spec_destroy(spec);
}
