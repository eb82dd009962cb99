// Invalid values: an error that names the value, from the first call that can know.
#include "checks.h"

static void check_policy(void) {
  const jail_argument_test domain = {.argument = 0, .op = JAIL_TEST_EQUAL, .value = 1};
  const jail_argument_test beyond = {.argument = 6, .op = JAIL_TEST_EQUAL};
  const jail_argument_test unknown = {.argument = 0, .op = (jail_test_op)7};
  jail_spec *spec = python_spec("");
  jail_policy *policy = NULL;
  jail_policy *copy = NULL;
  SUCCEEDS(jail_policy_default(&policy, &error));
  SUCCEEDS(jail_policy_copy(policy, &copy, &error));
  REFUSES("without its why", jail_policy_allow(policy, "ptrace", NULL, 0, "", &error));
  REFUSES("argument beyond 5", jail_policy_allow(policy, "socket", &beyond, 1, "why", &error));
  REFUSES("jail_test_op: 7", jail_policy_allow(policy, "socket", &unknown, 1, "why", &error));
  REFUSES("error_number: 0", jail_policy_refuse(policy, "ptrace", 0, NULL, 0, "why", &error));
  REFUSES("error_number: 4096", jail_policy_refuse_others(policy, 4096, &error));
  REFUSES("there is none for no_such_call", jail_policy_drop(policy, "no_such_call", &error));
  SUCCEEDS(jail_policy_drop(policy, "socket", &error));
  SUCCEEDS(jail_policy_allow(policy, "socket", &domain, 1, "sockets of files", &error));
  SUCCEEDS(jail_policy_kill(policy, "socket", NULL, 0, "no others", &error));
  SUCCEEDS(jail_policy_kill_others(policy, &error));
  SUCCEEDS(jail_spec_set_policy(spec, policy, &error));
  SUCCEEDS(jail_policy_allow(policy, "no_such_call", NULL, 0, "why", &error));
  REFUSES("no_such_call", jail_spec_set_policy(spec, policy, &error));
  // A copy does not share later changes of the original.
  SUCCEEDS(jail_spec_set_policy(spec, copy, &error));
  jail_policy_destroy(copy);
  jail_policy_destroy(policy);
  jail_spec_destroy(spec);
}

static void check_spec(const jail_launcher *launcher) {
  static const char *const relative[] = {"python3", NULL};
  static const char *const no_name[] = {"=x", NULL};
  static const char *const good[] = {"/usr/bin/python3", NULL};
  static const char *const none[] = {NULL};
  jail_jail *jail = NULL;
  jail_root *root = NULL;
  jail_spec *spec = NULL;
  char *text = NULL;
  SUCCEEDS(jail_spec_new(&spec, &error));
  REFUSES("argv: empty", jail_launcher_launch(launcher, spec, &jail, &error));
  jail_spec_destroy(spec);
  spec = python_spec("");
  SUCCEEDS(jail_launcher_explain(launcher, spec, &text, &error));
  CHECK(text != NULL && strstr(text, "execve") != NULL);
  jail_text_destroy(text);
  SUCCEEDS(jail_spec_set_argv(spec, relative, &error));
  REFUSES("argv: \"python3\"", jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_spec_set_argv(spec, good, &error));
  SUCCEEDS(jail_spec_set_env(spec, no_name, &error));
  REFUSES("env: \"=x\"", jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_spec_set_env(spec, none, &error));
  SUCCEEDS(jail_spec_set_hostname(spec, "", &error));
  REFUSES("hostname", jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_spec_set_hostname(spec, "h", &error));
  SUCCEEDS(jail_spec_set_working_directory(spec, "w", &error));
  REFUSES("working_directory", jail_launcher_launch(launcher, spec, &jail, &error));
  CHECK(jail == NULL);
  SUCCEEDS(jail_root_empty(&root, &error));
  REFUSES("jail_node_kind: -1", jail_root_bind(root, "/a", "/a", (jail_node_kind)-1, &error));
  jail_root *other = NULL;
  REFUSES("relative", jail_root_directory("relative", &other, &error));
  jail_root_destroy(root);
  jail_spec_destroy(spec);
}

static void check_pool(const jail_launcher *launcher) {
  jail_spec *spec = python_spec("");
  jail_template *templ = NULL;
  jail_pool *pool = NULL;
  jail_fork_optimizations optimizations = {.size = sizeof optimizations,
                                           .frozen_heap = (jail_frozen_heap)3};
  jail_pool_options options = {.size = sizeof options, .least = 5, .usual = 4, .most = 3};
  REFUSES("jail_warmth: 3", jail_template_new("t", (jail_warmth)3, spec, &templ, &error));
  SUCCEEDS(jail_template_new("No Such", JAIL_WARMTH_FORKED, spec, &templ, &error));
  REFUSES("name \"No Such\"", jail_pool_open(launcher, templ, NULL, &pool, &error));
  REFUSES("jail_fork_optimizations.frozen_heap: 3",
          jail_template_set_optimizations(templ, &optimizations, &error));
  optimizations.frozen_heap = JAIL_FROZEN_HEAP_IF_LARGE;
  optimizations.known_pages = (jail_optimization)2;
  REFUSES("jail_fork_optimizations.known_pages: 2",
          jail_template_set_optimizations(templ, &optimizations, &error));
  optimizations.known_pages = JAIL_OPTIMIZATION_OFF;
  optimizations.immortal_objects = (jail_optimization)2;
  REFUSES("jail_fork_optimizations.immortal_objects: 2",
          jail_template_set_optimizations(templ, &optimizations, &error));
  optimizations.immortal_objects = JAIL_OPTIMIZATION_OFF;
  optimizations.fresh_memory = (jail_optimization)2;
  REFUSES("jail_fork_optimizations.fresh_memory: 2",
          jail_template_set_optimizations(templ, &optimizations, &error));
  jail_template_destroy(templ);
  SUCCEEDS(jail_template_new("t", JAIL_WARMTH_PREPARED, spec, &templ, &error));
  REFUSES("least, usual and most", jail_pool_open(launcher, templ, &options, &pool, &error));
  CHECK(pool == NULL);
  // The defaults of the other two are lowered to a `most` that is below them.
  options = (jail_pool_options){.size = sizeof options, .most = 1};
  SUCCEEDS(jail_pool_open(launcher, templ, &options, &pool, &error));
  jail_pool_destroy(pool);
  options =
      (jail_pool_options){.size = sizeof options, .least = JAIL_POOL_NONE, .usual = JAIL_POOL_NONE};
  SUCCEEDS(jail_pool_open(launcher, templ, &options, &pool, &error));
  jail_pool_state state = {.size = sizeof state};
  SUCCEEDS(jail_pool_read_state(pool, &state, &error));
  CHECK(state.target == 0 && state.refilling == 0);
  int given_up = 2;
  SUCCEEDS(jail_pool_give_up_one(pool, &given_up, &error));
  CHECK(given_up == 0);
  REFUSES("given_up is NULL", jail_pool_give_up_one(pool, NULL, &error));
  jail_pool_destroy(pool);
  jail_template_destroy(templ);
  jail_spec_destroy(spec);
}

// The size exceeds every memory. The sanitizers' operator new ends the program instead of throwing.
static void check_memory(void) {
  jail_root *root = NULL;
  SUCCEEDS(jail_root_empty(&root, &error));
  FAILS(JAIL_EXHAUSTED, "jail_root_file: more than memory can hold",
        jail_root_file(root, "/a", "x", SIZE_MAX, NULL, &error));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  FAILS(JAIL_EXHAUSTED, "jail_root_file: out of memory",
        jail_root_file(root, "/a", "x", SIZE_MAX / 8, NULL, &error));
#endif
  jail_root_destroy(root);
}

void check_values(const jail_launcher *launcher) {
  check_policy();
  check_spec(launcher);
  check_pool(launcher);
  check_memory();
  CHECK(strcmp(jail_version(), JAIL_VERSION) == 0);
  CHECK(strcmp(jail_ended_text(JAIL_ENDED_TIMED_OUT), "timed out") == 0);
  CHECK(strcmp(jail_ended_text((jail_ended)99), "unknown") == 0);
  CHECK(strcmp(jail_enforcer_text(JAIL_ENFORCER_CGROUP), "cgroup") == 0);
  CHECK(strcmp(jail_enforcer_text((jail_enforcer)-1), "unknown") == 0);
  CHECK(strcmp(jail_skip_reason_text(JAIL_SKIP_TOO_LARGE), "too large") == 0);
  CHECK(strcmp(jail_skip_reason_text((jail_skip_reason)99), "unknown") == 0);
  CHECK(strcmp(jail_status_text(JAIL_CLOSED), "closed") == 0);
  CHECK(strcmp(jail_status_text(JAIL_TIMED_OUT), "timed out") == 0);
  CHECK(strcmp(jail_status_text((jail_status)99), "unknown") == 0);
}
