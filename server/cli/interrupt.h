// Ctrl-C and its kind, for commands that do one thing.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

#include "runtime/sandbox/cancel.h"

namespace server {

// The first signal ends the work, a second one ends us: the jail dies with its launcher.
class Interrupt {
 public:
  Interrupt(const boost::asio::any_io_executor& executor, runtime::Cancel cancel);

  int signal() const { return signal_; }  // 0: none came

 private:
  void wait();

  boost::asio::signal_set signals_;
  runtime::Cancel cancel_;
  std::atomic<int> signal_{0};
};

}  // namespace server
