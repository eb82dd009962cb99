#include "server/cli/interrupt.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include "server/cli/exit_codes.h"
#include "server/cli/patience.h"

namespace server {
Interrupt::Interrupt(const boost::asio::any_io_executor& executor, runtime::Cancel cancel,
                     PassOn pass_on)
    : signals_(executor, SIGINT, SIGTERM),
      patience_(executor),
      cancel_(std::move(cancel)),
      pass_on_(std::move(pass_on)) {
  struct sigaction hangup {};
  // Started by nohup it goes on when the terminal is gone.
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    signals_.add(SIGHUP);
  }
  if (pass_on_) signals_.add(SIGQUIT);
  wait();
}

void Interrupt::wait() {
  signals_.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    take(number);
    wait();
  });
}

void Interrupt::take(int number) {
  const bool is_first = signal_ == 0;
  if (is_first) signal_ = number;
  if (is_first && pass_on_) {
    pass_on_(number);
    end_later();
  } else if (is_first || !cancel_.requested()) {
    cancel_.request();
  } else {
    std::quick_exit(exit_signal_base + number);
  }
}

void Interrupt::end_later() {
  patience_.expires_after(patience_with_program);
  patience_.async_wait([this](const boost::system::error_code& error) {
    if (!error) cancel_.request();
  });
}

}  // namespace server
