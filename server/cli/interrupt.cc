#include "server/cli/interrupt.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "server/cli/exit_codes.h"

namespace server {

Interrupt::Interrupt(const boost::asio::any_io_executor& executor, runtime::Cancel cancel)
    : signals_(executor, SIGINT, SIGTERM), cancel_(std::move(cancel)) {
  struct sigaction hangup {};
  // Started by nohup it goes on when the terminal is gone.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    signals_.add(SIGHUP);
  }
  wait();
}

void Interrupt::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    if (signal_.exchange(number) != 0) std::_Exit(exit_signal_base + number);
    cancel_.request();
    wait();
  });
}

}  // namespace server
