#include "server/cli/sandbox/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "server/cli/write_all.h"

namespace server::client {

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
  jail::Fd fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return jail::Error{jail::ErrorKind::kernel, "signalfd", errno, {}};
  return Signals(std::move(fd));
}

void Signals::read() {
  signalfd_siginfo came{};
  while (::read(fd_.get(), &came, sizeof came) == sizeof came) {
    const int number = static_cast<int>(came.ssi_signo);
    if (number == SIGWINCH) {
      resized_ = true;
    } else if (ending_ == 0) {
      ending_ = number;
    }
  }
}

bool Signals::take_resized() noexcept { return std::exchange(resized_, false); }

bool Signals::wait_for(int fd, short events) {
  while (ending_ == 0) {
    pollfd entries[] = {{.fd = fd_.get(), .events = POLLIN, .revents = 0},
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
