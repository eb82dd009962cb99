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

// One coroutine waits at a time, on the bell's executor, which must run one handler at a time.
class Bell {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static std::shared_ptr<Bell> create(const boost::asio::any_io_executor& executor) {
    return std::shared_ptr<Bell>(new Bell(executor));
  }

  // Waits until ring() or `deadline`. A ring while nobody waits is not remembered: the waiter must
  // first look whether there is something to do, and then call this without another wait between.
  boost::asio::awaitable<void> wait(Time deadline = Time::max());

  // Thread-safe. Takes a share of the bell, which is released on the bell's executor.
  static void ring(std::shared_ptr<Bell> bell);

 private:
  explicit Bell(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  boost::asio::steady_timer timer_;
};

// The bells of coroutines that wait for the same news. Not thread-safe.
class Bells {
 public:
  // Adds a bell, which the next ring() rings once, however often it was added. When there are many
  // bells, those whose coroutines no longer wait are removed.
  void add(const std::shared_ptr<Bell>& bell);
  void ring();

  // Waits until `is_over` or `deadline`. `is_over` is asked before the first ring and after each.
  // `mutex` guards the bells and what `is_over` looks at; it is held only while `is_over` is asked.
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
