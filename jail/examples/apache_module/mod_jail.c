// mod_jail: answers a request with what a Python program prints, each time in a jail of its own.
//
//   LoadModule jail_module mod_jail.so
//   <Location "/answer">
//     SetHandler jail-python
//     JailPython "print(6 * 7)"        # without it: the body of a POST is the program
//     JailTimeLimit 2                  # seconds; 5
//   </Location>
//
// 200 where the program exited with 0, else 500, and 504 where its time was up; the header
// Jail-Ended has the reason. A client that leaves ends its program.
// clang-format off
#include <httpd.h>  // the other headers need it
// clang-format on
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "child.h"

enum { MOST_PROGRAM = 1 << 20, MOST_OUTPUT = 1 << 20, MOST_SECONDS = 60 };

struct server_settings {
  struct mod_jail_child* child;  // of this process; NULL in the process that only starts others
};

struct directory_settings {
  const char* python;
  int seconds;  // 0: not set
};

module AP_MODULE_DECLARE_DATA jail_module;
APLOG_USE_MODULE(jail);

// Reads the body of a POST. Returns an HTTP status.
static int read_program(request_rec* request, struct mod_jail_program* program) {
  int status = ap_setup_client_block(request, REQUEST_CHUNKED_DECHUNK);
  if (status != OK) return status;
  char* text = apr_palloc(request->pool, MOST_PROGRAM);
  program->text = text;
  if (!ap_should_client_block(request)) return OK;
  for (;;) {
    const apr_size_t room = MOST_PROGRAM - program->size;
    if (room == 0) return HTTP_REQUEST_ENTITY_TOO_LARGE;
    const long got = ap_get_client_block(request, text + program->size, room);
    if (got < 0) return HTTP_BAD_REQUEST;
    if (got == 0) return OK;
    program->size += (apr_size_t)got;
  }
}

static int socket_of(request_rec* request) {
  apr_os_sock_t fd = -1;
  apr_socket_t* socket = ap_get_conn_socket(request->connection);
  return socket != NULL && apr_os_sock_get(&fd, socket) == APR_SUCCESS ? fd : -1;
}

static const char* describe(request_rec* request, const struct mod_jail_answer* answer) {
  const jail_report* report = &answer->report;
  if (answer->is_too_large) return "printed too much";
  if (report->ended == JAIL_ENDED_EXITED) {
    return apr_psprintf(request->pool, "exited %d", report->exit_code);
  }
  if (report->ended == JAIL_ENDED_SIGNALED) {
    return apr_psprintf(request->pool, "signaled %d", report->signal);
  }
  return jail_ended_text(report->ended);
}

static int send_answer(request_rec* request, const struct mod_jail_answer* answer) {
  const jail_report* report = &answer->report;
  const int is_good =
      !answer->is_too_large && report->ended == JAIL_ENDED_EXITED && report->exit_code == 0;
  if (answer->is_abandoned) {
    request->connection->aborted = 1;
    return OK;
  }
  if (!is_good) {
    request->status =
        report->ended == JAIL_ENDED_TIMED_OUT ? HTTP_GATEWAY_TIME_OUT : HTTP_INTERNAL_SERVER_ERROR;
  }
  // The table headers_out would be lost with a status other than 200.
  apr_table_setn(request->err_headers_out, "Jail-Ended", describe(request, answer));
  ap_set_content_type(request, "text/plain; charset=utf-8");
  ap_set_content_length(request, (apr_off_t)answer->size);
  ap_rwrite(answer->output, (int)answer->size, request);
  return OK;
}

static int handle(request_rec* request) {
  if (strcmp(request->handler != NULL ? request->handler : "", "jail-python") != 0) return DECLINED;
  const struct directory_settings* here =
      ap_get_module_config(request->per_dir_config, &jail_module);
  const struct server_settings* server =
      ap_get_module_config(request->server->module_config, &jail_module);
  if (server->child == NULL) return HTTP_SERVICE_UNAVAILABLE;
  struct mod_jail_program program = {
      .wall_ms = (uint64_t)(here->seconds > 0 ? here->seconds : 5) * 1000,
      .max_output = MOST_OUTPUT,
      .client = socket_of(request)};
  if (here->python != NULL) {
    program.text = here->python;
    program.size = strlen(here->python);
  } else if (request->method_number != M_POST) {
    return HTTP_METHOD_NOT_ALLOWED;
  } else {
    const int status = read_program(request, &program);
    if (status != OK) return status;
  }
  struct mod_jail_answer answer;
  jail_error error = {.size = sizeof error};
  if (mod_jail_run(mod_jail_child_jails(server->child), &program, &answer, request->pool, &error) !=
      JAIL_OK) {
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, request, "jail: %s", error.text);
    return HTTP_SERVICE_UNAVAILABLE;
  }
  return send_answer(request, &answer);
}

// Virtual hosts share the child of their process.
static void start_child(apr_pool_t* pool, server_rec* server) {
  struct mod_jail_child* child = mod_jail_child_start(pool, server);
  for (; server != NULL; server = server->next) {
    struct server_settings* settings = ap_get_module_config(server->module_config, &jail_module);
    settings->child = child;
  }
}

static void register_hooks(apr_pool_t* pool) {
  (void)pool;
  ap_hook_child_init(start_child, NULL, NULL, APR_HOOK_MIDDLE);
  ap_hook_handler(handle, NULL, NULL, APR_HOOK_MIDDLE);
}

static void* make_server_settings(apr_pool_t* pool, server_rec* server) {
  (void)server;
  return apr_pcalloc(pool, sizeof(struct server_settings));
}

static void* make_directory_settings(apr_pool_t* pool, char* directory) {
  (void)directory;
  return apr_pcalloc(pool, sizeof(struct directory_settings));
}

static void* merge_directory_settings(apr_pool_t* pool, void* outer, void* inner) {
  const struct directory_settings *base = outer, *own = inner;
  struct directory_settings* merged = apr_pcalloc(pool, sizeof *merged);
  merged->python = own->python != NULL ? own->python : base->python;
  merged->seconds = own->seconds != 0 ? own->seconds : base->seconds;
  return merged;
}

static const char* set_python(cmd_parms* command, void* settings, const char* text) {
  (void)command;
  ((struct directory_settings*)settings)->python = text;
  return NULL;
}

static const char* set_seconds(cmd_parms* command, void* settings, const char* text) {
  char* end = NULL;
  const long seconds = strtol(text, &end, 10);
  if (*end != '\0' || seconds < 1 || seconds > MOST_SECONDS) {
    return apr_psprintf(command->pool, "JailTimeLimit is 1 to %d seconds", MOST_SECONDS);
  }
  ((struct directory_settings*)settings)->seconds = (int)seconds;
  return NULL;
}

// The initializers are in the order that httpd's own macros require.
static const command_rec commands[] = {
    AP_INIT_TAKE1("JailPython", set_python, NULL, OR_FILEINFO, "the program that answers"),
    AP_INIT_TAKE1("JailTimeLimit", set_seconds, NULL, OR_FILEINFO, "seconds that it may run"),
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL}};

module AP_MODULE_DECLARE_DATA jail_module = {STANDARD20_MODULE_STUFF,
                                             make_directory_settings,
                                             merge_directory_settings,
                                             make_server_settings,
                                             NULL,
                                             commands,
                                             register_hooks,
                                             0};
