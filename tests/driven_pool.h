// A pool of jails with the thread that drives it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "jail/pool.h"
#include "tests/time_scale.h"

class DrivenPool {
 public:
  DrivenPool(const jail::Launcher& launcher, jail::TemplateSpec spec,
             const jail::PoolOptions& options)
      : pool_(open(launcher, std::move(spec), options)), driver_([this] { drive(); }) {}
  DrivenPool(const DrivenPool&) = delete;
  ~DrivenPool() {
    stop_ = true;
    driver_.join();
  }

  jail::Pool* operator->() { return &pool_; }

  // Returns false after `patience`.
  template <class Condition>
  bool until(Condition condition,
             std::chrono::milliseconds patience = scaled(std::chrono::seconds(30))) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition(pool_.state())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  bool until_ready(std::uint32_t count = 1,
                   std::chrono::milliseconds patience = scaled(std::chrono::seconds(30))) {
    return until([&](const jail::PoolState& state) { return state.ready >= count; }, patience);
  }

 private:
  static jail::Pool open(const jail::Launcher& launcher, jail::TemplateSpec spec,
                         const jail::PoolOptions& options) {
    auto pool = jail::Pool::open(launcher, std::move(spec), options);
    if (!pool) {
      ADD_FAILURE() << pool.error().message();
      std::abort();
    }
    return std::move(*pool);
  }
  void drive() {
    while (!stop_) {
      pollfd watched{pool_.event_fd(), POLLIN, 0};
      ::poll(&watched, 1, 20);
      pool_.advance();
    }
  }

  jail::Pool pool_;
  std::atomic<bool> stop_{false};
  std::thread driver_;
};
