// script_daemon SOCKET
//
// Listens on a unix socket. Each connection brings a Python script, gets what it prints while it
// prints it, and last a line on how it ended:
//   echo 'print(6*7)' | nc -NU SOCKET
// One thread, one epoll set: jails run in processes of their own. SIGTERM lets those who are in
// finish.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "jails.h"

enum {
  MOST_CLIENTS = 32,  // each may have a jail of 256 MiB
  TICK_MS = 50,
  PAUSE_MS = 200  // before the next try to accept, where it failed
};

struct service {
  int epoll;
  struct jails jails;
  struct source listener, signals, pool;
  struct client* clients;
  int count;
  int64_t closed_until;  // by client_clock(), after descriptors have run out
  int is_draining;
};

static int fail(const char* doing, const char* why) {
  fprintf(stderr, "script_daemon: %s: %s\n", doing, why);
  return 1;
}

static void on_listener(void* owner, uint32_t events) {
  struct service* service = owner;
  (void)events;
  while (service->count < MOST_CLIENTS) {
    const int socket = accept4(service->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      const int is_short = errno != EAGAIN && errno != ECONNABORTED && errno != EINTR;
      if (is_short) service->closed_until = client_clock() + PAUSE_MS;
      return;
    }
    struct client* client = client_new(socket, service->epoll, service->jails.pool);
    if (client == NULL) return;
    client->next = service->clients;
    service->clients = client;
    ++service->count;
  }
}

static void on_signal(void* owner, uint32_t events) {
  struct service* service = owner;
  struct signalfd_siginfo got;
  (void)events;
  if (read(service->signals.fd, &got, sizeof got) == sizeof got) service->is_draining = 1;
}

static void on_pool(void* owner, uint32_t events) {
  struct service* service = owner;
  jail_error error = {.size = sizeof error};
  (void)events;
  if (jail_pool_advance(service->jails.pool, &error) != JAIL_OK) fail("the pool", error.text);
}

// Called between two rounds, when no event leads to a client that has gone.
static void tick(struct service* service) {
  struct client** place = &service->clients;
  while (*place != NULL) {
    struct client* client = *place;
    client_tick(client);
    if (client->state == CLIENT_GONE) {
      *place = client->next;
      client_destroy(client);
      --service->count;
    } else {
      place = &client->next;
    }
  }
}

static int serve(struct service* service) {
  struct epoll_event events[64];
  while (!service->is_draining || service->count > 0) {
    // Clients wait in the kernel's queue where there is no room for them, or where the daemon is
    // about to end.
    const int is_paused = client_clock() < service->closed_until;
    const int is_open = !service->is_draining && service->count < MOST_CLIENTS && !is_paused;
    if (source_watch(service->epoll, &service->listener, is_open ? EPOLLIN : 0) != 0) {
      return fail("watch the listener", strerror(errno));
    }
    const int wait = service->count > 0 || is_paused ? TICK_MS : -1;
    const int count = epoll_wait(service->epoll, events, 64, wait);
    if (count < 0 && errno != EINTR) return fail("epoll_wait", strerror(errno));
    for (int i = 0; i < count; ++i) {
      struct source* source = events[i].data.ptr;
      source->ready(source->owner, events[i].events);
    }
    tick(service);
  }
  return 0;
}

static int listen_at(const char* path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (bind(fd, (const struct sockaddr*)&address, sizeof address) != 0 || listen(fd, 128) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

static int signals_of_the_end(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -1;
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int run(struct service* service, const char* path) {
  jail_error error = {.size = sizeof error};
  if (jails_open(&service->jails, &error) != 0) return fail("open the pool", error.text);
  service->epoll = epoll_create1(EPOLL_CLOEXEC);
  service->signals = (struct source){signals_of_the_end(), on_signal, service, 0, 0};
  service->pool = (struct source){jail_pool_event_fd(service->jails.pool), on_pool, service, 0, 0};
  if (service->epoll < 0 || service->signals.fd < 0 ||
      source_watch(service->epoll, &service->signals, EPOLLIN) != 0 ||
      source_watch(service->epoll, &service->pool, EPOLLIN) != 0) {
    return fail("prepare the loop", strerror(errno));
  }
  service->listener = (struct source){listen_at(path), on_listener, service, 0, 0};
  if (service->listener.fd < 0) return fail(path, strerror(errno));
  printf("listening on %s\n", path);
  fflush(stdout);
  const int status = serve(service);
  unlink(path);
  return status;
}

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage", "script_daemon SOCKET");
  struct service service = {.epoll = -1, .listener.fd = -1, .signals.fd = -1, .pool.fd = -1};
  const int status = run(&service, argv[1]);
  jails_close(&service.jails);
  if (service.listener.fd >= 0) close(service.listener.fd);
  if (service.signals.fd >= 0) close(service.signals.fd);
  if (service.epoll >= 0) close(service.epoll);
  return status;
}
