// One jail's life, with calls that are not possible at each point of it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

enum { patience_ms = 60000 };

static jail_jail *launched(const jail_launcher *launcher, const char *program) {
  jail_spec *spec = python_spec(program);
  jail_jail *jail = NULL;
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  jail_spec_destroy(spec);
  return jail;
}

static void check_collected(const jail_jail *jail) {
  static const char *const globs[] = {"**/*", NULL};
  static const char *const bad[] = {"/etc/passwd", NULL};
  const int directory = jail_jail_working_directory_fd(jail);
  jail_collect_limits limits = {.size = sizeof limits, .file_bytes = 8};
  jail_collection *left = NULL;
  jail_collected_file file = {.size = sizeof file};
  jail_skipped_file skip = {.size = sizeof skip};
  REFUSES("glob", jail_collect(directory, bad, &limits, &left, &error));
  SUCCEEDS(jail_collect(directory, globs, &limits, &left, &error));
  CHECK(jail_collection_files(left) == 1);
  CHECK(jail_collection_skipped(left) == 2 && jail_collection_skipped_total(left) == 2);
  SUCCEEDS(jail_collection_file(left, 0, &file, &error));
  CHECK(strcmp(file.path, "small") == 0);
  CHECK(file.length == 3 && memcmp(file.content, "a\0b", 3) == 0);
  REFUSES("file 1 of 1", jail_collection_file(left, 1, &file, &error));
  SUCCEEDS(jail_collection_skip(left, 0, &skip, &error));
  CHECK(strcmp(skip.path, "large") == 0 && skip.reason == JAIL_SKIP_TOO_LARGE);
  SUCCEEDS(jail_collection_skip(left, 1, &skip, &error));
  CHECK(strcmp(skip.path, "link") == 0 && skip.reason == JAIL_SKIP_NOT_REGULAR);
  REFUSES("skip 2 of 2", jail_collection_skip(left, 2, &skip, &error));
  jail_collection_destroy(left);
}

static void check_life(const jail_launcher *launcher) {
  jail_jail *jail = launched(launcher,
                             "import os; open('small', 'wb').write(b'a\\0b');"
                             "open('large', 'w').write('x' * 9); os.symlink('small', 'link');"
                             "os._exit(7)");
  jail_report report = {.size = sizeof report};
  jail_phase now = JAIL_PHASE_LAUNCHING;
  CHECK(jail_jail_phase(jail) == JAIL_PHASE_READY);
  REFUSES("not ended", jail_jail_report(jail, &report, &error));
  REFUSES("jail_phase: 9", jail_jail_wait(jail, (jail_phase)9, 1, NULL, &error));
  REFUSES("content is NULL", jail_jail_write_file(jail, "a", NULL, 1, 0644, &error));
  FAILS(JAIL_KERNEL, "../a", jail_jail_write_file(jail, "../a", "b", 1, 0644, &error));
  FAILS(JAIL_TIMED_OUT, "wait", jail_jail_wait(jail, JAIL_PHASE_RUNNING, 1, NULL, &error));
  const int out = jail_jail_take_stdout(jail);
  CHECK(out >= 0 && (fcntl(out, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(jail_jail_take_stdout(jail) == -1);
  close(out);
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  REFUSES("not ready", jail_jail_start(jail, NULL, &error));
  REFUSES("not ready", jail_jail_write_file(jail, "late", "", 0, 0644, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, &now, &error));
  CHECK(now == JAIL_PHASE_ENDED);
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_EXITED && report.exit_code == 7 && report.signal == 0);
  CHECK(report.memory_by == JAIL_ENFORCER_WATCHDOG && report.processes_by == JAIL_ENFORCER_RLIMIT);
  CHECK(report.ran_us > 0 && report.set_up_us > 0 && report.memory_peak_bytes > 0);
  check_collected(jail);
  jail_jail_destroy(jail);
}

static void check_limits_of_a_run(const jail_launcher *launcher) {
  jail_jail *jail = launched(launcher, "while True: pass");
  jail_run_limits limits = {.size = sizeof limits, .wall_ms = 50};
  jail_report report = {.size = sizeof report};
  SUCCEEDS(jail_jail_start(jail, &limits, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_TIMED_OUT && report.exit_code == -1);
  // An older caller's report ends earlier.
  jail_report before;
  memset(&report, 0x55, sizeof report);
  report.size = offsetof(jail_report, signal);
  before = report;
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_TIMED_OUT && report.signal == before.signal);
  jail_jail_destroy(jail);
}

static void check_terminal(const jail_launcher *launcher) {
  jail_spec *spec = python_spec("import os; raise SystemExit(os.get_terminal_size().columns)");
  jail_report report = {.size = sizeof report};
  jail_jail *jail = NULL;
  REFUSES("terminal", jail_spec_set_terminal(spec, 65536, 24, &error));
  SUCCEEDS(jail_spec_set_terminal(spec, 91, 30, &error));
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  jail_spec_destroy(spec);
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  CHECK(jail_jail_terminal_fd(jail) == -1);
  REFUSES("terminal", jail_jail_resize(jail, 80, 24, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  CHECK(jail_jail_terminal_fd(jail) >= 0);
  SUCCEEDS(jail_jail_resize(jail, 80, 24, &error));
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_EXITED && report.exit_code == 91);
  jail_jail_destroy(jail);
}

static void check_ends(const jail_launcher *launcher) {
  jail_report report = {.size = sizeof report};
  jail_jail *signaled = launched(launcher, "import time; time.sleep(60)");
  REFUSES("signal", jail_jail_signal(signaled, SIGTERM, &error));
  SUCCEEDS(jail_jail_start(signaled, NULL, &error));
  SUCCEEDS(jail_jail_signal(signaled, SIGTERM, &error));
  SUCCEEDS(jail_jail_wait(signaled, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_report(signaled, &report, &error));
  CHECK(report.ended == JAIL_ENDED_SIGNALED && report.signal == SIGTERM);
  jail_jail_destroy(signaled);

  jail_jail *jail = launched(launcher, "import time; time.sleep(60)");
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  jail_jail_cancel(jail);
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_CANCELLED);
  jail_jail_destroy(jail);

  jail = launched(launcher, "import time; time.sleep(60)");
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  jail_jail_kill(jail, JAIL_ENDED_TIMED_OUT);
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_TIMED_OUT && report.signal == SIGKILL);
  jail_jail_destroy(jail);
}

static void check_communication(const jail_launcher *launcher) {
  static const char input[] = "a\0b";
  jail_jail *jail = launched(launcher,
                             "import sys; read = sys.stdin.buffer.read();"
                             "sys.stdout.buffer.write(read * 3); sys.stderr.write('four')");
  jail_output *output = NULL;
  size_t length = 99;
  REFUSES("not started", jail_jail_communicate(jail, input, 3, 0, &output, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  REFUSES("input is NULL", jail_jail_communicate(jail, NULL, 3, 0, &output, &error));
  SUCCEEDS(jail_jail_communicate(jail, input, 3, 7, &output, &error));
  CHECK(jail_jail_phase(jail) == JAIL_PHASE_ENDED);
  CHECK(memcmp(jail_output_out(output, &length), "a\0ba\0ba", 8) == 0 && length == 7);
  CHECK(strcmp(jail_output_err(output, &length), "four") == 0 && length == 4);
  CHECK(jail_output_out_lost_bytes(output) == 2 && jail_output_err_lost_bytes(output) == 0);
  REFUSES("its output was taken", jail_jail_communicate(jail, NULL, 0, 0, &output, &error));
  jail_jail_destroy(jail);
  CHECK(jail_output_err(output, NULL)[0] == 'f');
  jail_output_destroy(output);
}

// A step that fails between clone3 and the guest is named.
static void check_processes(const jail_launcher *launcher) {
  static const char *const argv[] = {"/usr/bin/python3", "-c", "import os; print(os.getcwd())",
                                     NULL};
  static const char *const shell[] = {"/usr/bin/python3", "-c", "input()", NULL};
  static const char *const none[] = {NULL};
  jail_process_options options = {.size = sizeof options, .working_directory = "/tmp"};
  jail_limit_change change = {.size = sizeof change};
  jail_report report = {.size = sizeof report};
  jail_spec *spec = python_spec("");
  jail_process *process = NULL;
  jail_output *output = NULL;
  jail_jail *jail = NULL;
  size_t length = 0;
  int fd = -1;
  SUCCEEDS(jail_spec_set_living(spec, &error));
  REFUSES("argv: given", jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_spec_set_argv(spec, none, &error));
  SUCCEEDS(jail_spec_set_env(spec, none, &error));
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  SUCCEEDS(jail_jail_pause(jail, &error));
  CHECK(jail_jail_activity(jail) == JAIL_ACTIVITY_PAUSING);
  REFUSES("paused", jail_jail_spawn(jail, argv, NULL, &options, &process, &error));
  SUCCEEDS(jail_jail_resume(jail, &error));
  CHECK(jail_jail_activity(jail) == JAIL_ACTIVITY_ACTIVE);
  CHECK(jail_jail_limits_hold(jail) == 1);
  change.processes = 200;
  REFUSES("limits.processes: 200", jail_jail_change_limits(jail, &change, &error));
  change.processes = 100;
  SUCCEEDS(jail_jail_change_limits(jail, &change, &error));
  while (jail_jail_limits_hold(jail) == 0) SUCCEEDS(jail_jail_advance(jail, NULL, &error));
  REFUSES("argv: empty", jail_jail_spawn(jail, none, NULL, NULL, &process, &error));
  SUCCEEDS(jail_jail_spawn(jail, argv, NULL, &options, &process, &error));
  REFUSES("has not ended", jail_process_report(process, &report, &error));
  SUCCEEDS(jail_process_communicate(process, NULL, 0, 0, &output, &error));
  CHECK(strcmp(jail_output_out(output, &length), "/tmp\n") == 0 && length == 5);
  SUCCEEDS(jail_process_report(process, &report, &error));
  CHECK(report.ended == JAIL_ENDED_EXITED && report.exit_code == 0);
  CHECK(jail_process_pid(process) > 1);
  jail_output_destroy(output);
  jail_process_destroy(process);
  options.terminal_columns = 80;
  REFUSES("terminal", jail_jail_spawn(jail, shell, NULL, &options, &process, &error));
  options.terminal_rows = 24;
  SUCCEEDS(jail_jail_spawn(jail, shell, NULL, &options, &process, &error));
  SUCCEEDS(jail_process_wait(process, JAIL_PROCESS_RUNNING, patience_ms, NULL, &error));
  CHECK(jail_process_terminal_fd(process) >= 0 && jail_process_take_stdout(process) == -1);
  SUCCEEDS(jail_process_resize(process, 100, 30, &error));
  REFUSES("65535", jail_process_resize(process, 70000, 30, &error));
  SUCCEEDS(jail_process_signal(process, 0, &error));
  SUCCEEDS(jail_process_signal_group(process, SIGKILL, &error));
  SUCCEEDS(jail_process_wait(process, JAIL_PROCESS_ENDED, patience_ms, NULL, &error));
  SUCCEEDS(jail_process_report(process, &report, &error));
  CHECK(report.ended == JAIL_ENDED_SIGNALED && report.signal == SIGKILL);
  jail_process_destroy(process);
  SUCCEEDS(jail_jail_open_file(jail, "/workspace", O_RDONLY, 0, &fd, &error));
  close(fd);
  SUCCEEDS(jail_jail_request_socket(jail, 0, &fd, &error));
  struct pollfd answer = {.fd = fd, .events = POLLIN};
  CHECK(poll(&answer, 1, (int)patience_ms) == 1);
  int inside = -1;
  SUCCEEDS(jail_take_socket(fd, &inside, &error));
  CHECK(inside >= 0);
  close(inside);
  close(fd);
  jail_jail_destroy(jail);
  jail_spec_destroy(spec);
}

static void check_failing_step(const jail_launcher *launcher) {
  static const char *const argv[] = {"/usr/bin/no-such-program", NULL};
  jail_spec *spec = python_spec("");
  jail_jail *jail = NULL;
  SUCCEEDS(jail_spec_set_argv(spec, argv, &error));
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  FAILS(JAIL_KERNEL, "/usr/bin/no-such-program",
        jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  FAILS(JAIL_KERNEL, "/usr/bin/no-such-program", jail_jail_advance(jail, NULL, &error));
  jail_jail_destroy(jail);
  jail_spec_destroy(spec);
}

// A volume is written to, a bind is read, a device is there; each only with a reason.
static void check_grants(const jail_launcher *launcher) {
  static const char program[] =
      "open('/kept/out', 'w').write(open('/given').read());"
      "import os; os.stat('/dev/tty')";
  char kept[] = "/tmp/libjail-volume.XXXXXX";
  char given[sizeof kept + 8], out[sizeof kept + 8];
  char text[16] = {0};
  const char *const argv[] = {"/usr/bin/python3", "-c", program, NULL};
  jail_spec *spec = python_spec("");
  jail_jail *jail = NULL;
  jail_report report = {.size = sizeof report};
  CHECK(mkdtemp(kept) != NULL);
  snprintf(given, sizeof given, "%s.given", kept);
  snprintf(out, sizeof out, "%s/out", kept);
  FILE *file = fopen(given, "w");
  CHECK(file != NULL && fputs("handed", file) >= 0 && fclose(file) == 0);
  SUCCEEDS(jail_spec_set_argv(spec, argv, &error));
  REFUSES("jail_programs: 2",
          jail_spec_add_volume(spec, kept, "/kept", (jail_programs)2, "why", &error));
  REFUSES("jail_device_access: 2",
          jail_spec_add_device(spec, "/dev/tty", (jail_device_access)2, "why", &error));
  SUCCEEDS(jail_spec_add_volume(spec, kept, "/kept", JAIL_PROGRAMS_REFUSED, "results", &error));
  SUCCEEDS(jail_spec_add_bind(spec, given, "/given", JAIL_NODE_FILE, "the input", &error));
  SUCCEEDS(jail_spec_add_device(spec, "/dev/tty", JAIL_DEVICE_READ_WRITE, "a terminal", &error));
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_report(jail, &report, &error));
  CHECK(report.ended == JAIL_ENDED_EXITED && report.exit_code == 0);
  jail_jail_destroy(jail);
  file = fopen(out, "r");
  CHECK(file != NULL && fgets(text, sizeof text, file) != NULL && strcmp(text, "handed") == 0);
  if (file != NULL) fclose(file);
  SUCCEEDS(jail_spec_add_bind(spec, given, "/again", JAIL_NODE_FILE, "", &error));
  REFUSES("binds[1].why", jail_launcher_launch(launcher, spec, &jail, &error));
  jail_spec_destroy(spec);
  unlink(out);
  unlink(given);
  CHECK(rmdir(kept) == 0);
}

void check_runs(jail_launcher *launcher) {
  check_life(launcher);
  check_limits_of_a_run(launcher);
  check_ends(launcher);
  check_terminal(launcher);
  check_communication(launcher);
  check_processes(launcher);
  check_failing_step(launcher);
  check_grants(launcher);
}
