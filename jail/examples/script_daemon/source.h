// A descriptor in the epoll set, and the callback for its events.
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

struct source {
  int fd;  // -1: none
  void (*ready)(void* owner, uint32_t events);
  void* owner;
  uint32_t events;  // the events that epoll was asked for; EPOLLHUP and EPOLLERR always come
  int added;
};

// Returns -1 and sets errno on failure.
static inline int source_watch(int epoll, struct source* source, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = source};
  if (source->added && source->events == events) return 0;
  if (epoll_ctl(epoll, source->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, source->fd, &event) != 0) {
    return -1;
  }
  source->added = 1;
  source->events = events;
  return 0;
}

// EPOLLHUP is not reported any more either.
static inline void source_forget(int epoll, struct source* source) {
  if (source->added) epoll_ctl(epoll, EPOLL_CTL_DEL, source->fd, 0);
  source->added = 0;
}
