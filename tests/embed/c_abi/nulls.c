// NULL where a value is needed: an error that names it, never a crash. Each function of the
// interface that returns a status is here.
#include <signal.h>

#include "checks.h"

static void check_policy(void) {
  jail_policy *policy = NULL;
  REFUSES("policy is NULL", jail_policy_default(NULL, &error));
  REFUSES("name is NULL", jail_policy_new(NULL, &policy, &error));
  REFUSES("policy is NULL", jail_policy_new("p", NULL, &error));
  REFUSES("from is NULL", jail_policy_copy(NULL, &policy, &error));
  REFUSES("policy is NULL", jail_policy_allow(NULL, "read", NULL, 0, "why", &error));
  REFUSES("policy is NULL", jail_policy_refuse(NULL, "read", 1, NULL, 0, "why", &error));
  REFUSES("policy is NULL", jail_policy_kill(NULL, "read", NULL, 0, "why", &error));
  REFUSES("policy is NULL", jail_policy_allow_terminals(NULL, &error));
  REFUSES("policy is NULL", jail_policy_drop(NULL, "read", &error));
  REFUSES("policy is NULL", jail_policy_refuse_others(NULL, 1, &error));
  REFUSES("policy is NULL", jail_policy_kill_others(NULL, &error));
  CHECK(policy == NULL);
  SUCCEEDS(jail_policy_new("p", &policy, &error));
  REFUSES("syscall is NULL", jail_policy_allow(policy, NULL, NULL, 0, "why", &error));
  REFUSES("why is NULL", jail_policy_allow(policy, "read", NULL, 0, NULL, &error));
  REFUSES("tests is NULL", jail_policy_allow(policy, "read", NULL, 1, "why", &error));
  REFUSES("syscall is NULL", jail_policy_drop(policy, NULL, &error));
  jail_policy_destroy(policy);
  jail_policy_destroy(NULL);
}

static void check_root(void) {
  jail_root *root = NULL;
  REFUSES("root is NULL", jail_root_host(NULL, &error));
  REFUSES("path is NULL", jail_root_directory(NULL, &root, &error));
  REFUSES("root is NULL", jail_root_directory("/", NULL, &error));
  REFUSES("root is NULL", jail_root_empty(NULL, &error));
  REFUSES("root is NULL", jail_root_bind(NULL, "/a", "/a", JAIL_NODE_FILE, &error));
  REFUSES("root is NULL", jail_root_link(NULL, "/a", "b", &error));
  REFUSES("root is NULL", jail_root_file(NULL, "/a", "b", 1, NULL, &error));
  SUCCEEDS(jail_root_empty(&root, &error));
  REFUSES("source is NULL", jail_root_bind(root, NULL, "/a", JAIL_NODE_FILE, &error));
  REFUSES("target is NULL", jail_root_bind(root, "/a", NULL, JAIL_NODE_FILE, &error));
  REFUSES("points_to is NULL", jail_root_link(root, "/a", NULL, &error));
  REFUSES("content is NULL", jail_root_file(root, "/a", NULL, 1, NULL, &error));
  SUCCEEDS(jail_root_file(root, "/a", NULL, 0, NULL, &error));
  jail_root_destroy(root);
  jail_root_destroy(NULL);
}

static void check_spec(void) {
  static const char *const list[] = {"a", NULL};
  jail_limits limits = {.size = sizeof limits};
  jail_root *root = NULL;
  jail_policy *policy = NULL;
  jail_spec *spec = NULL;
  SUCCEEDS(jail_root_empty(&root, &error));
  SUCCEEDS(jail_policy_default(&policy, &error));
  REFUSES("spec is NULL", jail_spec_new(NULL, &error));
  REFUSES("from is NULL", jail_spec_copy(NULL, &spec, &error));
  REFUSES("spec is NULL", jail_spec_set_argv(NULL, list, &error));
  REFUSES("spec is NULL", jail_spec_set_env(NULL, list, &error));
  REFUSES("spec is NULL", jail_spec_set_working_directory(NULL, "/w", &error));
  REFUSES("spec is NULL", jail_spec_set_living(NULL, &error));
  REFUSES("spec is NULL", jail_spec_set_terminal(NULL, 80, 24, &error));
  REFUSES("spec is NULL", jail_spec_set_hostname(NULL, "h", &error));
  REFUSES("spec is NULL", jail_spec_set_root(NULL, root, &error));
  REFUSES("spec is NULL", jail_spec_set_policy(NULL, policy, &error));
  REFUSES("spec is NULL", jail_spec_set_limits(NULL, &limits, &error));
  REFUSES("spec is NULL", jail_spec_add_bind(NULL, "/a", "/a", JAIL_NODE_FILE, "why", &error));
  REFUSES("spec is NULL",
          jail_spec_add_volume(NULL, "/a", "/a", JAIL_PROGRAMS_REFUSED, "why", &error));
  REFUSES("spec is NULL", jail_spec_add_device(NULL, "/dev/kvm", JAIL_DEVICE_READ, "why", &error));
  REFUSES("spec is NULL", jail_spec_set_network_none(NULL, &error));
  REFUSES("spec is NULL", jail_spec_set_network_loopback(NULL, &error));
  REFUSES("spec is NULL", jail_spec_allow_network(NULL, list, NULL, &error));
  SUCCEEDS(jail_spec_new(&spec, &error));
  REFUSES("argv is NULL", jail_spec_set_argv(spec, NULL, &error));
  REFUSES("root is NULL", jail_spec_set_root(spec, NULL, &error));
  REFUSES("policy is NULL", jail_spec_set_policy(spec, NULL, &error));
  REFUSES("limits is NULL", jail_spec_set_limits(spec, NULL, &error));
  REFUSES("limits is NULL", jail_spec_set_max_limits(spec, NULL, &error));
  REFUSES("rules is NULL", jail_spec_allow_network(spec, NULL, "label", &error));
  jail_spec_destroy(spec);
  jail_spec_destroy(NULL);
  jail_policy_destroy(policy);
  jail_root_destroy(root);
}

static void check_launcher_and_jail(void) {
  jail_spec *spec = python_spec("");
  jail_output *output = NULL;
  jail_jail *jail = NULL;
  jail_report report = {.size = sizeof report};
  jail_enforcement held = {.size = sizeof held};
  char *text = NULL;
  REFUSES("path is NULL", jail_own_cgroup_directory(NULL, &error));
  REFUSES("launcher is NULL", jail_launcher_start(NULL, NULL, &error));
  REFUSES("launcher is NULL", jail_launcher_launch(NULL, spec, &jail, &error));
  REFUSES("launcher is NULL", jail_launcher_explain(NULL, spec, &text, &error));
  REFUSES("launcher is NULL", jail_launcher_enforcement(NULL, &held, &error));
  REFUSES("jail is NULL", jail_jail_advance(NULL, NULL, &error));
  REFUSES("jail is NULL", jail_jail_wait(NULL, JAIL_PHASE_READY, 1, NULL, &error));
  REFUSES("jail is NULL", jail_jail_write_file(NULL, "a", "b", 1, 0644, &error));
  REFUSES("jail is NULL", jail_jail_start(NULL, NULL, &error));
  REFUSES("jail is NULL", jail_jail_report(NULL, &report, &error));
  REFUSES("jail is NULL", jail_jail_communicate(NULL, NULL, 0, 0, &output, &error));
  CHECK(jail_output_out(NULL, NULL) == NULL && jail_output_err(NULL, NULL) == NULL);
  CHECK(jail_output_out_lost_bytes(NULL) == 0 && jail_output_err_lost_bytes(NULL) == 0);
  jail_output_destroy(NULL);
  CHECK(jail_jail_phase(NULL) == JAIL_PHASE_ENDED);
  CHECK(jail_jail_control_fd(NULL) == -1);
  CHECK(jail_jail_process_fd(NULL) == -1);
  CHECK(jail_jail_working_directory_fd(NULL) == -1);
  CHECK(jail_jail_take_stdin(NULL) == -1);
  CHECK(jail_jail_take_stdout(NULL) == -1);
  CHECK(jail_jail_take_stderr(NULL) == -1);
  CHECK(jail_jail_terminal_fd(NULL) == -1);
  REFUSES("jail is NULL", jail_jail_resize(NULL, 80, 24, &error));
  CHECK(jail_launcher_process_fd(NULL) == -1);
  CHECK(jail_jail_activity(NULL) == JAIL_ACTIVITY_ACTIVE);
  REFUSES("jail is NULL", jail_jail_signal(NULL, SIGINT, &error));
  REFUSES("jail is NULL", jail_jail_pause(NULL, &error));
  REFUSES("jail is NULL", jail_jail_resume(NULL, &error));
  jail_limit_change change = {.size = sizeof change};
  REFUSES("jail is NULL", jail_jail_change_limits(NULL, &change, &error));
  CHECK(jail_jail_limits_hold(NULL) == 1);
  jail_jail_cancel(NULL);
  jail_jail_kill(NULL, JAIL_ENDED_KILLED);
  jail_jail_destroy(NULL);
  jail_launcher_destroy(NULL);
  jail_text_destroy(NULL);
  jail_spec_destroy(spec);
}

static void check_process(void) {
  static const char *const argv[] = {"/usr/bin/true", NULL};
  jail_output *output = NULL;
  jail_process *process = NULL;
  jail_report report = {.size = sizeof report};
  int fd = -1;
  REFUSES("jail is NULL", jail_jail_spawn(NULL, argv, NULL, NULL, &process, &error));
  REFUSES("jail is NULL", jail_jail_open_file(NULL, "/", 0, 0, &fd, &error));
  REFUSES("jail is NULL", jail_jail_request_socket(NULL, 0, &fd, &error));
  REFUSES("socket is NULL", jail_take_socket(-1, NULL, &error));
  REFUSES("process is NULL", jail_process_advance(NULL, NULL, &error));
  REFUSES("process is NULL", jail_process_wait(NULL, JAIL_PROCESS_ENDED, 1, NULL, &error));
  REFUSES("process is NULL", jail_process_signal(NULL, 1, &error));
  REFUSES("process is NULL", jail_process_signal_group(NULL, 1, &error));
  REFUSES("process is NULL", jail_process_resize(NULL, 1, 1, &error));
  REFUSES("process is NULL", jail_process_communicate(NULL, NULL, 0, 0, &output, &error));
  REFUSES("process is NULL", jail_process_report(NULL, &report, &error));
  CHECK(jail_process_phase(NULL) == JAIL_PROCESS_ENDED);
  CHECK(jail_process_control_fd(NULL) == -1);
  CHECK(jail_process_pid(NULL) == 0);
  CHECK(jail_process_terminal_fd(NULL) == -1);
  CHECK(jail_process_take_stdin(NULL) == -1);
  CHECK(jail_process_take_stdout(NULL) == -1);
  CHECK(jail_process_take_stderr(NULL) == -1);
  jail_process_destroy(NULL);
}

static void check_pool(void) {
  jail_spec *spec = python_spec("");
  jail_fork_optimizations optimizations = {.size = sizeof optimizations};
  jail_pool_state state = {.size = sizeof state};
  jail_limits limits = {.size = sizeof limits};
  jail_template *templ = NULL;
  jail_pool *pool = NULL;
  jail_jail *jail = NULL;
  int given_up = 0;
  REFUSES("name is NULL", jail_template_new(NULL, JAIL_WARMTH_FORKED, spec, &templ, &error));
  REFUSES("spec is NULL", jail_template_new("t", JAIL_WARMTH_FORKED, NULL, &templ, &error));
  REFUSES("templ is NULL", jail_template_new("t", JAIL_WARMTH_FORKED, spec, NULL, &error));
  REFUSES("templ is NULL", jail_template_set_max(NULL, 1, 1, &error));
  REFUSES("templ is NULL", jail_template_set_imports(NULL, NULL, &error));
  REFUSES("templ is NULL", jail_template_set_warm_up(NULL, "", &error));
  REFUSES("templ is NULL", jail_template_set_after_fork(NULL, "", &error));
  REFUSES("templ is NULL", jail_template_set_rehearsal(NULL, "", &error));
  REFUSES("templ is NULL", jail_template_set_optimizations(NULL, &optimizations, &error));
  SUCCEEDS(jail_template_new("t", JAIL_WARMTH_FORKED, spec, &templ, &error));
  SUCCEEDS(jail_template_set_warm_up(templ, NULL, &error));
  REFUSES("optimizations is NULL", jail_template_set_optimizations(templ, NULL, &error));
  REFUSES("launcher is NULL", jail_pool_open(NULL, templ, NULL, &pool, &error));
  REFUSES("pool is NULL", jail_pool_advance(NULL, &error));
  REFUSES("pool is NULL", jail_pool_lease(NULL, &jail, &error));
  REFUSES("pool is NULL", jail_pool_launch(NULL, NULL, NULL, &jail, &error));
  REFUSES("pool is NULL", jail_pool_launch_living(NULL, &jail, &error));
  REFUSES("pool is NULL", jail_pool_launch_living_within(NULL, &limits, NULL, &jail, &error));
  REFUSES("pool is NULL", jail_pool_give_up_one(NULL, &given_up, &error));
  REFUSES("pool is NULL", jail_pool_read_state(NULL, &state, &error));
  CHECK(jail_pool_event_fd(NULL) == -1);
  jail_pool_destroy(NULL);
  jail_template_destroy(templ);
  jail_template_destroy(NULL);
  jail_spec_destroy(spec);
}

static void check_collection(void) {
  static const char *const globs[] = {"*", NULL};
  jail_collected_file file = {.size = sizeof file};
  jail_skipped_file skip = {.size = sizeof skip};
  jail_collection *collection = NULL;
  REFUSES("globs is NULL", jail_collect(0, NULL, NULL, &collection, &error));
  REFUSES("collection is NULL", jail_collect(0, globs, NULL, NULL, &error));
  REFUSES("not a descriptor", jail_collect(-1, globs, NULL, &collection, &error));
  REFUSES("collection is NULL", jail_collection_file(NULL, 0, &file, &error));
  REFUSES("collection is NULL", jail_collection_skip(NULL, 0, &skip, &error));
  CHECK(jail_collection_files(NULL) == 0);
  CHECK(jail_collection_skipped(NULL) == 0);
  CHECK(jail_collection_skipped_total(NULL) == 0);
  jail_collection_destroy(NULL);
}

static void check_egress(void) {
  const jail_egress_address half = {.name = "a", .address = NULL};
  jail_egress_options options = {.size = sizeof options, .address_count = 1};
  jail_egress_decision decision = {.size = sizeof decision};
  const char *const no_rules[] = {NULL};
  int number = 0;
  jail_egress *egress = NULL;
  jail_egress_decisions *decisions = NULL;
  REFUSES("rule is NULL", jail_egress_check_rule(NULL, &error));
  REFUSES("egress is NULL", jail_egress_start(NULL, NULL, &error));
  REFUSES("addresses is NULL", jail_egress_start(&options, &egress, &error));
  options.addresses = &half;
  REFUSES("a NULL in it", jail_egress_start(&options, &egress, &error));
  REFUSES("egress is NULL", jail_egress_take(NULL, &decisions, &error));
  REFUSES("egress is NULL", jail_egress_serve(NULL, 0, no_rules, NULL, &number, &error));
  REFUSES("rules is NULL", jail_egress_request_change(-1, NULL, &error));
  REFUSES("holds is NULL", jail_egress_take_change(-1, NULL, &error));
  REFUSES("decisions is NULL", jail_egress_decisions_at(NULL, 0, &decision, &error));
  CHECK(jail_egress_decisions_count(NULL) == 0);
  CHECK(jail_egress_event_fd(NULL) == -1);
  CHECK(jail_egress_process_fd(NULL) == -1);
  jail_egress_decisions_destroy(NULL);
  jail_egress_destroy(NULL);
}

static void check_id_range(void) {
  jail_id_range_options options = {.size = sizeof options, .first_uid = 1, .reserved = 1};
  jail_id_range *range = NULL;
  jail_acting *acting = NULL;
  REFUSES("range is NULL", jail_id_range_enter(NULL, NULL, &error));
  REFUSES("jail_id_range_options.reserved", jail_id_range_enter(&options, &range, &error));
  options = (jail_id_range_options){.size = sizeof options, .first_uid = 65530, .count = 10};
  REFUSES("", jail_id_range_enter(&options, &range, &error));
  REFUSES("acting is NULL", jail_act_as_owner_of(0, NULL, &error));
  REFUSES("act as the owner", jail_act_as_owner_of(-1, &acting, &error));
  CHECK(range == NULL);
  CHECK(acting == NULL);
  jail_acting_end(NULL);
  jail_id_range_destroy(NULL);
}

void check_nulls(void) {
  check_policy();
  check_root();
  check_spec();
  check_launcher_and_jail();
  check_process();
  check_pool();
  check_collection();
  check_egress();
  check_id_range();
  // Nobody has to want the text.
  CHECK(jail_spec_new(NULL, NULL) == JAIL_INVALID);
}
