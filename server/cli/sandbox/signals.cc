#include "server/cli/sandbox/signals.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "server/cli/patience.h"
#include "server/cli/write_all.h"

namespace server::client {
namespace {

bool add(const jail::Fd& epoll, const jail::Fd& member) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  return ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, member.get(), &event) == 0;
}

}  // namespace

Signals::Signals(jail::Fd came, jail::Fd patience, jail::Fd either)
    : came_(std::move(came)), patience_(std::move(patience)), either_(std::move(either)) {}

jail::Result<Signals> Signals::block() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGWINCH}) ::sigaddset(&set, number);
  struct sigaction hangup {};
  // Started by nohup it goes on when the terminal is gone.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    ::sigaddset(&set, SIGHUP);
  }
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  jail::Fd came(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!came.valid()) return jail::Error{jail::ErrorKind::kernel, "signalfd", errno, {}};
  jail::Fd patience(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!patience.valid()) return jail::Error{jail::ErrorKind::kernel, "timerfd_create", errno, {}};
  jail::Fd either(::epoll_create1(EPOLL_CLOEXEC));
  if (!either.valid() || !add(either, came) || !add(either, patience)) {
    return jail::Error{jail::ErrorKind::kernel, "epoll", errno, {}};
  }
  return Signals(std::move(came), std::move(patience), std::move(either));
}

void Signals::read() {
  signalfd_siginfo came{};
  while (::read(came_.get(), &came, sizeof came) == sizeof came) {
    const int number = static_cast<int>(came.ssi_signo);
    if (number == SIGWINCH) {
      resized_ = true;
    } else {
      take(number);
    }
  }
  std::uint64_t expirations = 0;
  if (::read(patience_.get(), &expirations, sizeof expirations) > 0) ending_ = first_;
}

void Signals::take(int number) {
  const bool is_first = first_ == 0;
  if (is_first) first_ = number;
  if (!is_first || !is_lending_) {
    ending_ = first_;
    return;
  }
  itimerspec time{};
  time.it_value.tv_sec = patience_with_program.count();
  if (::timerfd_settime(patience_.get(), 0, &time, nullptr) < 0) ending_ = first_;
}

int Signals::take_lent() noexcept {
  if (!is_lending_ || std::exchange(is_taken_, first_ != 0)) return 0;
  return first_;
}

bool Signals::take_resized() noexcept { return std::exchange(resized_, false); }

bool Signals::wait_for(int fd, short events) {
  while (ending_ == 0) {
    pollfd entries[] = {{.fd = either_.get(), .events = POLLIN, .revents = 0},
                        {.fd = fd, .events = events, .revents = 0}};
    if (::poll(entries, std::size(entries), -1) < 0 && errno != EINTR) return true;
    if (entries[0].revents != 0) read();
    if (ending_ == 0 && entries[1].revents != 0) return true;
  }
  return false;
}

bool Signals::wait_for_input(int fd) { return wait_for(fd, POLLIN); }

bool Signals::write_all(int fd, std::string_view bytes) {
  const jail::Fd own = reopened_terminal(fd);
  if (own.valid()) fd = own.get();
  return write_when(fd, bytes, [this, fd] { return wait_for(fd, POLLOUT); });
}

}  // namespace server::client
