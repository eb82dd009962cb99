// Ctrl-C and its kind, for commands that do one thing.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>

#include "runtime/sandbox/cancel.h"

namespace server {

// The first signal ends the work, a second one ends us: the jail dies with its launcher.
class Interrupt {
 public:
  // Hands a signal to a program, which may do something about it.
  using PassOn = std::function<void(int signal)>;

  // Where there is a `pass_on`, the first signal is handed on, and the work is ended two seconds
  // later or by a second signal; a third one ends us.
  Interrupt(const boost::asio::any_io_executor& executor, runtime::Cancel cancel,
            PassOn pass_on = {});

  int signal() const { return signal_; }  // the first one; 0: none came

 private:
  void wait();
  void take(int number);
  void end_later();

  boost::asio::signal_set signals_;
  boost::asio::steady_timer patience_;
  const runtime::Cancel cancel_;
  const PassOn pass_on_;
  std::atomic<int> signal_{0};
};

}  // namespace server
