#include "child.h"

#include <apr_thread_proc.h>
#include <errno.h>
#include <http_log.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

APLOG_USE_MODULE(jail);

struct mod_jail_child {
  jail_launcher* launcher;
  jail_pool* jails;
  apr_thread_t* tender;
  int stop;  // an eventfd
  server_rec* server;
};

jail_pool* mod_jail_child_jails(struct mod_jail_child* child) { return child->jails; }

static jail_status fill_spec(jail_spec* spec, jail_error* error) {
  static const char* const argv[] = {"/usr/bin/python3", "main.py", NULL};
  static const char* const env[] = {"PATH=/usr/bin", "LANG=C.UTF-8", "HOME=/tmp", NULL};
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

static jail_status open_jails(struct mod_jail_child* child, jail_error* error) {
  static const char* const imports[] = {"json", "re", "datetime", NULL};
  // httpd has many children: each keeps a few jails, and more while many requests come.
  const jail_pool_options options = {.size = sizeof options, .least = 1, .usual = 2, .most = 16};
  jail_spec* spec = NULL;
  jail_template* python = NULL;
  jail_status status = jail_spec_new(&spec, error);
  if (status == JAIL_OK) status = fill_spec(spec, error);
  if (status == JAIL_OK) {
    status = jail_template_new("python", JAIL_WARMTH_FORKED, spec, &python, error);
  }
  if (status == JAIL_OK) status = jail_template_set_imports(python, imports, error);
  if (status == JAIL_OK) status = jail_launcher_start(NULL, &child->launcher, error);
  if (status == JAIL_OK) {
    status = jail_pool_open(child->launcher, python, &options, &child->jails, error);
  }
  jail_template_destroy(python);
  jail_spec_destroy(spec);
  return status;
}

static void* APR_THREAD_FUNC tend(apr_thread_t* thread, void* argument) {
  struct mod_jail_child* child = argument;
  (void)thread;
  struct pollfd watched[] = {{child->stop, POLLIN, 0},
                             {jail_pool_event_fd(child->jails), POLLIN, 0}};
  while (watched[0].revents == 0) {
    jail_error error = {.size = sizeof error};
    if (jail_pool_advance(child->jails, &error) != JAIL_OK) {
      ap_log_error(APLOG_MARK, APLOG_ERR, 0, child->server, "jails: %s", error.text);
    }
    if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
  }
  return NULL;
}

// httpd's child waits for its signals in a thread of its own (sigwait). If one of them were not
// blocked here, the kernel could deliver it to this thread instead, and the child would not stop.
static apr_status_t start_tender(struct mod_jail_child* child, apr_pool_t* pool) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const apr_status_t status = apr_thread_create(&child->tender, NULL, tend, child, pool);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}

// Called before `pool` goes, when the request threads have ended: at the end of the child, be it by
// a graceful restart, a stop or MaxConnectionsPerChild. A child that is killed needs none of this:
// the launcher and all of its jails go with it.
static apr_status_t stop(void* argument) {
  struct mod_jail_child* child = argument;
  if (child->tender != NULL) {
    apr_status_t ended;
    eventfd_write(child->stop, 1);
    apr_thread_join(&ended, child->tender);
  }
  jail_pool_destroy(child->jails);
  jail_launcher_destroy(child->launcher);
  if (child->stop >= 0) close(child->stop);
  return APR_SUCCESS;
}

struct mod_jail_child* mod_jail_child_start(apr_pool_t* pool, server_rec* server) {
  struct mod_jail_child* child = apr_pcalloc(pool, sizeof *child);
  jail_error error = {.size = sizeof error};
  child->server = server;
  child->stop = eventfd(0, EFD_CLOEXEC);
  // A pre-cleanup, since the thread lives in a part of `pool` that would go before it.
  apr_pool_pre_cleanup_register(pool, child, stop);
  if (child->stop < 0) {
    ap_log_error(APLOG_MARK, APLOG_ERR, errno, server, "jails: eventfd");
    return NULL;
  }
  if (open_jails(child, &error) != JAIL_OK) {
    ap_log_error(APLOG_MARK, APLOG_ERR, 0, server, "jails: %s", error.text);
    return NULL;
  }
  const apr_status_t status = start_tender(child, pool);
  if (status != APR_SUCCESS) {
    ap_log_error(APLOG_MARK, APLOG_ERR, status, server, "jails: start a thread");
    return NULL;
  }
  return child;
}
