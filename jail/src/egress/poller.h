// epoll, edge-triggered: each descriptor is registered once, and no state of a descriptor can make
// the loop turn without work.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "jail/fd.h"

namespace jail::egress {

enum class Watched : std::uint8_t { control, resolver, jail, listener, client, server };

// The subject of an event: a number that is never used twice, so that an event for something that
// has gone since finds nothing.
struct Token {
  Watched what;
  std::uint64_t id;
};

class Poller {
 public:
  Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}
  bool valid() const { return epoll_.valid(); }

  // Watches `fd` until it is closed. Returns false where epoll has no room for it.
  bool watch(int fd, Token token) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.u64 = token.id << 3 | static_cast<std::uint64_t>(token.what);
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  std::span<const epoll_event> wait(int milliseconds) {
    const int got = ::epoll_wait(epoll_.get(), events_, most, milliseconds);
    return {events_, static_cast<std::size_t>(got > 0 ? got : 0)};
  }

  static Token token_of(const epoll_event& event) {
    return {static_cast<Watched>(event.data.u64 & 7), event.data.u64 >> 3};
  }

 private:
  static constexpr int most = 256;

  Fd epoll_;
  epoll_event events_[most];
};

}  // namespace jail::egress
