// The C interface at its borders, from a program that sees the installed library only. Exits with 1
// where a check fails or descriptors are left open.
#include <dirent.h>
#include <stdlib.h>

#include "checks.h"

int wrong = 0;

jail_spec *python_spec(const char *program) {
  const char *const argv[] = {"/usr/bin/python3", "-c", program, NULL};
  jail_policy *policy = NULL;
  jail_root *root = NULL;
  jail_spec *spec = NULL;
  SUCCEEDS(jail_policy_default(&policy, &error));
  SUCCEEDS(jail_root_host(&root, &error));
  SUCCEEDS(jail_spec_new(&spec, &error));
  SUCCEEDS(jail_spec_set_argv(spec, argv, &error));
  SUCCEEDS(jail_spec_set_root(spec, root, &error));
  SUCCEEDS(jail_spec_set_policy(spec, policy, &error));
  jail_root_destroy(root);
  jail_policy_destroy(policy);
  return spec;
}

static int open_descriptors(void) {
  int count = 0;
  DIR *directory = opendir("/proc/self/fd");
  if (directory == NULL) abort();
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

int main(void) {
  const int before = open_descriptors();
  jail_launcher_options options = {.size = sizeof options, .cgroup_directory = "/usr"};
  jail_launcher *launcher = NULL;
  check_nulls();
  REFUSES("/usr", jail_launcher_start(&options, &launcher, &error));
  SUCCEEDS(jail_launcher_start(NULL, &launcher, &error));
  if (launcher == NULL) return 1;
  check_sizes(launcher);
  check_values(launcher);
  check_runs(launcher);
  check_network();
  check_threads(launcher);
  CHECK(jail_launcher_process_fd(launcher) >= 0);
  CHECK(jail_launcher_landlock_version(launcher) == jail_landlock_version());
  jail_launcher_destroy(launcher);
  CHECK(open_descriptors() == before);
  if (wrong == 0) puts("all is so");
  return wrong == 0 ? 0 : 1;
}
