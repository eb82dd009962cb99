#include "jails.h"

static jail_status fill_spec(jail_spec* spec, jail_error* error) {
  static const char* const argv[] = {"/usr/bin/python3", "main.py", NULL};
  static const char* const env[] = {"PATH=/usr/bin", "LANG=C.UTF-8", "HOME=/tmp",
                                    "PYTHONUNBUFFERED=1", NULL};
  jail_root* root = NULL;
  jail_policy* policy = NULL;
  jail_status status = jail_spec_set_argv(spec, argv, error);
  if (status == JAIL_OK) status = jail_spec_set_env(spec, env, error);
  if (status == JAIL_OK) status = jail_root_host(&root, error);
  if (status == JAIL_OK) status = jail_spec_set_root(spec, root, error);
  if (status == JAIL_OK) status = jail_policy_default(&policy, error);
  if (status == JAIL_OK) status = jail_spec_set_policy(spec, policy, error);
  jail_policy_destroy(policy);
  jail_root_destroy(root);
  return status;
}

static jail_status fill_template(jail_template* python, jail_error* error) {
  static const char* const imports[] = {"json", "re", "random", "datetime", NULL};
  const jail_status status = jail_template_set_imports(python, imports, error);
  if (status != JAIL_OK) return status;
  // Standard output and error become one stream, in the order in which they are written.
  return jail_template_set_after_fork(python, "import os\nos.dup2(1, 2)\n", error);
}

int jails_open(struct jails* jails, jail_error* error) {
  const jail_pool_options options = {.size = sizeof options, .usual = 4, .most = 16};
  jail_spec* spec = NULL;
  jail_template* python = NULL;
  *jails = (struct jails){0};
  jail_status status = jail_spec_new(&spec, error);
  if (status == JAIL_OK) status = fill_spec(spec, error);
  if (status == JAIL_OK) {
    status = jail_template_new("python", JAIL_WARMTH_FORKED, spec, &python, error);
  }
  if (status == JAIL_OK) status = fill_template(python, error);
  if (status == JAIL_OK) status = jail_launcher_start(NULL, &jails->launcher, error);
  if (status == JAIL_OK) {
    status = jail_pool_open(jails->launcher, python, &options, &jails->pool, error);
  }
  jail_template_destroy(python);
  jail_spec_destroy(spec);
  return status == JAIL_OK ? 0 : -1;
}

void jails_close(struct jails* jails) {
  jail_pool_destroy(jails->pool);
  jail_launcher_destroy(jails->launcher);
  *jails = (struct jails){0};
}
