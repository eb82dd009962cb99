// Wakes a coroutine from any thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

namespace runtime {

// One coroutine waits at a time, on the bell's executor, which does one thing after the other.
class Bell {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static std::shared_ptr<Bell> create(const boost::asio::any_io_executor& executor) {
    return std::shared_ptr<Bell>(new Bell(executor));
  }

  // Until ring() or `deadline`. A ring while nobody waits is not remembered: whoever waits looks
  // first whether there is something to do, and only then suspends, without another wait between.
  boost::asio::awaitable<void> wait(Time deadline = Time::max());

  // Thread-safe. Takes a share of the bell, which is let go where it lives.
  static void ring(std::shared_ptr<Bell> bell);

 private:
  explicit Bell(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  boost::asio::steady_timer timer_;
};

// Coroutines that wait for the same news. Not thread-safe.
class Bells {
 public:
  // Rung once, with the next ring(), however often it was added. Those of whoever waits no more go
  // when there are many.
  void add(const std::shared_ptr<Bell>& bell);
  void ring();

  // Until `is_over`, which is asked before the first ring and after each, at the latest at
  // `deadline`. `mutex` guards the bells and what `is_over` looks at; it is held meanwhile only.
  template <class Condition>
  boost::asio::awaitable<void> wait(std::mutex& mutex, Bell::Time deadline, Condition is_over) {
    const auto bell = Bell::create(co_await boost::asio::this_coro::executor);
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (is_over() || std::chrono::steady_clock::now() >= deadline) co_return;
        add(bell);
      }
      co_await bell->wait(deadline);
    }
  }

 private:
  static constexpr std::size_t few = 16;

  std::set<std::weak_ptr<Bell>, std::owner_less<>> bells_;
  std::size_t many_ = few;
};

}  // namespace runtime
