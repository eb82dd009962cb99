// When something has to be over, one such time after the other.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace server {

// Hardly any deadline comes to pass, and each setting of a timer is a system call: the timer is
// left alone where it fires early enough, and then looks at what is due. Everything happens on the
// executor, which does one thing after the other.
class Deadline : public std::enable_shared_from_this<Deadline> {
 public:
  explicit Deadline(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  // Replaces the one before.
  void set(std::chrono::milliseconds from_now, std::function<void()> late);
  // Brings the one that is set, if there is one, nearer; never puts it off.
  void hasten(std::chrono::milliseconds from_now);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void start_timer();
  void look();

  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  Clock::time_point due_;
  std::function<void()> late_;  // empty: nothing is due
};

}  // namespace server
