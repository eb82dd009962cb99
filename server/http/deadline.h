// A deadline that is set again and again.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace server {

// Hardly any deadline is ever reached, and each setting of a timer is a system call. So the timer
// is left alone where it fires early enough, and then looks at what is due. Everything happens on
// the executor, which must run one handler at a time.
class Deadline : public std::enable_shared_from_this<Deadline> {
 public:
  explicit Deadline(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  // Replaces the earlier deadline.
  void set(std::chrono::milliseconds from_now, std::function<void()> late);
  // Moves the current deadline, if there is one, closer; never defers it.
  void hasten(std::chrono::milliseconds from_now);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void start_timer();
  void look();

  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  Clock::time_point due_;
  std::function<void()> late_;  // empty: no deadline is set
};

}  // namespace server
