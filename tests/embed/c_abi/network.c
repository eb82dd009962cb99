// A jail's way out: to the one destination that a rule names, and to no other.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "checks.h"

enum { patience_ms = 60000 };

// Asks the proxy in the jail for two ports of this host and prints what it answers.
static const char asks[] =
    "import socket, sys\n"
    "for port in sys.argv[1:]:\n"
    "    proxy = socket.create_connection(('127.0.0.1', 3128))\n"
    "    proxy.sendall(f'CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
    "    print(proxy.recv(100).split()[1].decode(), flush=True)\n"
    "    proxy.close()\n";

// Nobody accepts: the kernel's answer is enough for a connection.
static int listening(unsigned short *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(fd, 8) == 0);
  CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
  *port = ntohs(address.sin_port);
  return fd;
}

static jail_spec *asking_spec(unsigned short allowed, unsigned short forbidden) {
  char rule[32], first[8], second[8];
  const char *const rules[] = {rule, NULL};
  const char *const bad[] = {"pypi.org", NULL};
  const char *const argv[] = {"/usr/bin/python3", "-c", asks, first, second, NULL};
  jail_spec *spec = python_spec("");
  snprintf(rule, sizeof rule, "127.0.0.1:%u", (unsigned)allowed);
  snprintf(first, sizeof first, "%u", (unsigned)allowed);
  snprintf(second, sizeof second, "%u", (unsigned)forbidden);
  SUCCEEDS(jail_egress_check_rule(rule, &error));
  REFUSES("pypi.org", jail_egress_check_rule("pypi.org", &error));
  REFUSES("pypi.org", jail_spec_allow_network(spec, bad, NULL, &error));
  SUCCEEDS(jail_spec_set_argv(spec, argv, &error));
  SUCCEEDS(jail_spec_allow_network(spec, rules, "the jail", &error));
  return spec;
}

static void run(jail_launcher *launcher, const jail_spec *spec, const char *prints) {
  char text[64] = {0};
  jail_jail *jail = NULL;
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_ENDED, patience_ms, NULL, &error));
  const int out = jail_jail_take_stdout(jail);
  CHECK(read(out, text, sizeof text - 1) >= 0);
  CHECK(strcmp(text, prints) == 0);
  close(out);
  jail_jail_destroy(jail);
}

// Waits for both of the decisions that were made.
static void check_decisions(jail_egress *egress) {
  int allowed = 0, refused = 0;
  while (allowed + refused < 2) {
    struct pollfd watched = {jail_egress_event_fd(egress), POLLIN, 0};
    jail_egress_decisions *list = NULL;
    if (poll(&watched, 1, patience_ms) != 1) break;
    SUCCEEDS(jail_egress_take(egress, &list, &error));
    if (list == NULL) break;
    const size_t count = jail_egress_decisions_count(list);
    jail_egress_decision decision = {.size = sizeof decision};
    for (size_t i = 0; i < count; ++i) {
      SUCCEEDS(jail_egress_decisions_at(list, i, &decision, &error));
      CHECK(strcmp(decision.jail, "the jail") == 0);
      CHECK(strncmp(decision.destination, "127.0.0.1:", 10) == 0);
      if (decision.event != JAIL_EGRESS_DECIDED) continue;
      CHECK(decision.reason[0] != '\0');
      allowed += decision.verdict == JAIL_EGRESS_ALLOWED;
      refused += decision.verdict == JAIL_EGRESS_REFUSED;
    }
    REFUSES("decision", jail_egress_decisions_at(list, count, &decision, &error));
    jail_egress_decisions_destroy(list);
  }
  CHECK(allowed == 1 && refused == 1);
}

static jail_jail *living_jail(const jail_launcher *launcher) {
  static const char *const none[] = {NULL};
  jail_spec *spec = python_spec("");
  jail_jail *jail = NULL;
  SUCCEEDS(jail_spec_set_living(spec, &error));
  SUCCEEDS(jail_spec_set_argv(spec, none, &error));
  SUCCEEDS(jail_spec_set_network_loopback(spec, &error));
  SUCCEEDS(jail_launcher_launch(launcher, spec, &jail, &error));
  jail_spec_destroy(spec);
  SUCCEEDS(jail_jail_wait(jail, JAIL_PHASE_READY, patience_ms, NULL, &error));
  SUCCEEDS(jail_jail_start(jail, NULL, &error));
  return jail;
}

static int listener_in(const jail_jail *jail) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(3128), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int request = -1, inside = -1;
  SUCCEEDS(jail_jail_request_socket(jail, 0, &request, &error));
  struct pollfd answer = {.fd = request, .events = POLLIN};
  CHECK(poll(&answer, 1, patience_ms) == 1);
  SUCCEEDS(jail_take_socket(request, &inside, &error));
  close(request);
  CHECK(bind(inside, (const struct sockaddr *)&address, sizeof address) == 0);
  CHECK(listen(inside, 8) == 0);
  return inside;
}

static void ask_in(const jail_jail *jail, unsigned short port, const char *prints) {
  char text[8];
  const char *const argv[] = {"/usr/bin/python3", "-c", asks, text, NULL};
  jail_process *process = NULL;
  jail_output *output = NULL;
  snprintf(text, sizeof text, "%u", (unsigned)port);
  SUCCEEDS(jail_jail_spawn(jail, argv, NULL, NULL, &process, &error));
  SUCCEEDS(jail_process_communicate(process, NULL, 0, 0, &output, &error));
  CHECK(strcmp(jail_output_out(output, NULL), prints) == 0);
  jail_output_destroy(output);
  jail_process_destroy(process);
}

// A way out of a jail that lives, whose rules change.
static void check_serving(unsigned short first, unsigned short second) {
  char rule[32];
  const char *rules[] = {rule, NULL};
  jail_launcher *launcher = NULL;
  jail_egress *egress = NULL;
  int served = -1, holds = 0;
  SUCCEEDS(jail_launcher_start(NULL, &launcher, &error));
  SUCCEEDS(jail_egress_start(NULL, &egress, &error));
  jail_jail *jail = living_jail(launcher);
  const int listener = listener_in(jail);
  snprintf(rule, sizeof rule, "127.0.0.1:%u", (unsigned)first);
  REFUSES("listener", jail_egress_serve(egress, -1, rules, "a jail", &served, &error));
  SUCCEEDS(jail_egress_serve(egress, listener, rules, "a jail", &served, &error));
  close(listener);
  ask_in(jail, first, "200\n");
  ask_in(jail, second, "403\n");
  snprintf(rule, sizeof rule, "127.0.0.1:%u", (unsigned)second);
  SUCCEEDS(jail_egress_request_change(served, rules, &error));
  while (holds == 0) {
    struct pollfd answer = {.fd = served, .events = POLLIN};
    if (poll(&answer, 1, patience_ms) != 1) break;
    SUCCEEDS(jail_egress_take_change(served, &holds, &error));
  }
  CHECK(holds == 1);
  ask_in(jail, first, "403\n");
  ask_in(jail, second, "200\n");
  close(served);
  jail_jail_destroy(jail);
  jail_egress_destroy(egress);
  jail_launcher_destroy(launcher);
}

void check_network(void) {
  unsigned short allowed = 0, forbidden = 0;
  const int first = listening(&allowed);
  const int second = listening(&forbidden);
  jail_launcher_options options = {.size = sizeof options};
  jail_launcher *launcher = NULL;
  jail_egress *egress = NULL;
  jail_jail *jail = NULL;
  jail_spec *spec = asking_spec(allowed, forbidden);
  SUCCEEDS(jail_launcher_start(NULL, &launcher, &error));
  REFUSES("network", jail_launcher_launch(launcher, spec, &jail, &error));
  jail_launcher_destroy(launcher);

  SUCCEEDS(jail_egress_start(NULL, &egress, &error));
  CHECK(jail_egress_process_fd(egress) >= 0);
  options.egress = egress;
  SUCCEEDS(jail_launcher_start(&options, &launcher, &error));
  run(launcher, spec, "200\n403\n");
  check_decisions(egress);
  jail_egress_destroy(egress);
  // The launcher still has the proxy.
  run(launcher, spec, "200\n403\n");
  jail_launcher_destroy(launcher);
  jail_spec_destroy(spec);
  check_serving(allowed, forbidden);
  close(first);
  close(second);
}
