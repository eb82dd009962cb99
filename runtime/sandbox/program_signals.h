// Passes signals from their sender to the code that runs the program.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace runtime {

// Thread-safe.
class ProgramSignals {
 public:
  // Sends a signal to the program and its process group: at once, or when the program has started.
  // The signal is dropped where the program has ended, and where `max_waiting` wait already.
  void send(int number) {
    constexpr std::size_t max_waiting = 64;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() == max_waiting) return;
    waiting_.push_back(number);
    if (on_signal_) on_signal_();
  }

  // Those that were sent since it was called last.
  std::vector<int> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

  // Calls `callback` on the thread that sends, until it is given an empty one. It must not throw
  // and must not use this.
  void listen(std::function<void()> callback) {
    const std::lock_guard lock(mutex_);
    on_signal_ = std::move(callback);
  }

 private:
  std::mutex mutex_;
  std::vector<int> waiting_;
  std::function<void()> on_signal_;
};

}  // namespace runtime
