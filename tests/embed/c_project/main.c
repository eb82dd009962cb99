// A stranger's program in C: a snippet in a jail that is made for it and the same in one that a
// warm pool had waiting, both under its own poll loop. Prints what each printed, left behind, and
// how it ended.
#define _POSIX_C_SOURCE 200809L

#include <jail_c.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char program[] =
    "import sys\n"
    "print(int(open('in/number.txt').read()) * 7)\n"
    "open('left.txt', 'w').write('left behind')\n"
    "sys.exit(3)\n";

// The output of one jail so far.
struct output {
  char text[4096];
  size_t length;
};

static int fail(const jail_error *error) {
  fprintf(stderr, "stranger: %s\n", error->text);
  return 1;
}

// Returns whether there may be more to come.
static int drain(int fd, struct output *into) {
  for (;;) {
    char spare[256];
    const size_t room = sizeof into->text - into->length;
    char *to = room > 0 ? into->text + into->length : spare;
    const ssize_t got = read(fd, to, room > 0 ? room : sizeof spare);
    if (got == 0) return 0;
    if (got < 0) return 1;
    if (room > 0) into->length += (size_t)got;
  }
}

static jail_status begin(jail_jail *jail, jail_error *error) {
  jail_run_limits limits = {.size = sizeof limits, .wall_ms = 20000};
  jail_status status = jail_jail_write_file(jail, "in/number.txt", "6", 1, 0644, error);
  if (status == JAIL_OK) {
    status = jail_jail_write_file(jail, "main.py", program, strlen(program), 0644, error);
  }
  return status == JAIL_OK ? jail_jail_start(jail, &limits, error) : status;
}

// `pool` is driven meanwhile; NULL for a jail that is from none.
static jail_status run(jail_jail *jail, jail_pool *pool, struct output *output, jail_error *error) {
  int out = jail_jail_take_stdout(jail);
  int begun = 0;
  int open = 1;
  jail_status status = JAIL_OK;
  for (;;) {
    jail_phase phase = JAIL_PHASE_LAUNCHING;
    status = jail_jail_advance(jail, &phase, error);
    if (status != JAIL_OK || phase == JAIL_PHASE_ENDED) break;
    if (phase == JAIL_PHASE_READY && !begun) {
      status = begin(jail, error);
      if (status != JAIL_OK) break;
      begun = 1;
    }
    struct pollfd watched[] = {{jail_jail_control_fd(jail), POLLIN, 0},
                               {open ? out : -1, POLLIN, 0},
                               {jail_pool_event_fd(pool), POLLIN, 0}};
    poll(watched, 3, -1);
    if (watched[1].revents != 0) open = drain(out, output);
    if (watched[2].revents != 0) status = jail_pool_advance(pool, error);
    if (status != JAIL_OK) break;
  }
  if (open) drain(out, output);
  close(out);
  return status;
}

static jail_status show(jail_jail *jail, const struct output *output, jail_error *error) {
  static const char *const globs[] = {"*.txt", NULL};
  jail_report report = {.size = sizeof report};
  jail_collection *left = NULL;
  fwrite(output->text, 1, output->length, stdout);
  jail_status status =
      jail_collect(jail_jail_working_directory_fd(jail), globs, NULL, &left, error);
  for (size_t i = 0; status == JAIL_OK && i < jail_collection_files(left); ++i) {
    jail_collected_file file = {.size = sizeof file};
    status = jail_collection_file(left, i, &file, error);
    if (status == JAIL_OK)
      printf("%s: %.*s\n", file.path, (int)file.length, (const char *)file.content);
  }
  jail_collection_destroy(left);
  if (status == JAIL_OK) status = jail_jail_report(jail, &report, error);
  if (status == JAIL_OK) {
    printf("exited: %s, status %d\n", report.ended == JAIL_ENDED_EXITED ? "yes" : "no",
           report.exit_code);
  }
  return status;
}

static jail_status run_and_show(jail_jail *jail, jail_pool *pool, jail_error *error) {
  struct output output = {.length = 0};
  jail_status status = run(jail, pool, &output, error);
  if (status == JAIL_OK) status = show(jail, &output, error);
  jail_jail_destroy(jail);
  return status;
}

static jail_status describe(jail_spec *spec, jail_error *error) {
  static const char *const argv[] = {"/usr/bin/python3", "main.py", NULL};
  jail_limits limits = {.size = sizeof limits, .memory_bytes = 128u << 20};
  jail_policy *policy = NULL;
  jail_root *root = NULL;
  jail_status status = jail_policy_default(&policy, error);
  if (status == JAIL_OK) status = jail_root_host(&root, error);
  if (status == JAIL_OK) status = jail_spec_set_argv(spec, argv, error);
  if (status == JAIL_OK) status = jail_spec_set_root(spec, root, error);
  if (status == JAIL_OK) status = jail_spec_set_policy(spec, policy, error);
  if (status == JAIL_OK) status = jail_spec_set_limits(spec, &limits, error);
  jail_root_destroy(root);
  jail_policy_destroy(policy);
  return status;
}

static jail_status cold(const jail_launcher *launcher, const jail_spec *spec, jail_error *error) {
  jail_jail *jail = NULL;
  const jail_status status = jail_launcher_launch(launcher, spec, &jail, error);
  return status == JAIL_OK ? run_and_show(jail, NULL, error) : status;
}

static jail_status warm(const jail_launcher *launcher, const jail_spec *spec, jail_error *error) {
  static const char *const modules[] = {"json", NULL};
  jail_pool_options options = {.size = sizeof options, .least = 1, .usual = 1, .most = 2};
  jail_pool_state state = {.size = sizeof state};
  jail_template *python = NULL;
  jail_pool *pool = NULL;
  jail_jail *jail = NULL;
  jail_status status = jail_template_new("python", JAIL_WARMTH_FORKED, spec, &python, error);
  if (status == JAIL_OK) status = jail_template_set_imports(python, modules, error);
  if (status == JAIL_OK) status = jail_pool_open(launcher, python, &options, &pool, error);
  jail_template_destroy(python);
  while (status == JAIL_OK && state.ready == 0 && state.trouble[0] == '\0') {
    struct pollfd watched = {jail_pool_event_fd(pool), POLLIN, 0};
    poll(&watched, 1, -1);
    status = jail_pool_advance(pool, error);
    if (status == JAIL_OK) status = jail_pool_read_state(pool, &state, error);
  }
  if (state.trouble[0] != '\0') fprintf(stderr, "stranger: %s\n", state.trouble);
  if (status == JAIL_OK) status = jail_pool_lease(pool, &jail, error);
  if (status == JAIL_OK) status = run_and_show(jail, pool, error);
  jail_pool_destroy(pool);
  return status;
}

int main(void) {
  jail_error error = {.size = sizeof error};
  jail_launcher *launcher = NULL;
  jail_spec *spec = NULL;
  jail_status status = jail_spec_new(&spec, &error);
  if (status == JAIL_OK) status = describe(spec, &error);
  if (status == JAIL_OK) status = jail_launcher_start(NULL, &launcher, &error);
  if (status == JAIL_OK) status = cold(launcher, spec, &error);
  if (status == JAIL_OK) status = warm(launcher, spec, &error);
  jail_launcher_destroy(launcher);
  jail_spec_destroy(spec);
  return status == JAIL_OK ? 0 : fail(&error);
}
