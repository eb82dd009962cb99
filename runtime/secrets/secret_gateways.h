// What the gateways of all sandboxes share: threads, memory, trust, and who is told of requests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "jail/egress.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Thread-safe. stop() must be called before the last owner goes, which may be one of the threads.
class SecretGateways {
 public:
  struct Options {
    std::string ca_file = {};  // PEM; trusted in place of the system's authorities. Empty: these
    // Called on any thread, with the label of the gateway as the jail. Empty: nobody listens.
    std::function<void(const jail::EgressDecision&)> on_decision = {};
  };

  explicit SecretGateways(Options options) : options_(std::move(options)) {}
  SecretGateways(const SecretGateways&) = delete;
  SecretGateways& operator=(const SecretGateways&) = delete;

  // Closes all gateways, and waits until all threads have ended. There are no others from now on.
  void stop();
  const Cancel& stopped() const noexcept { return stopped_; }

  const std::string& ca_file() const noexcept { return options_.ca_file; }
  void tell(const jail::EgressDecision& decision) const {
    if (options_.on_decision) options_.on_decision(decision);
  }

  // Runs `work` on a thread of its own; returns false where the host has none left, or where
  // very many are under way.
  bool start(std::function<void()> work);

  // Returns a place for a request's body in memory, which is given back with what is returned; null
  // where there is none.
  std::shared_ptr<void> take_memory(std::uint64_t bytes);

 private:
  struct Worker {
    std::thread thread{};
    std::atomic<bool> is_done = false;
  };
  static constexpr std::uint64_t max_memory = 128u << 20;
  static constexpr std::size_t max_workers = 512;

  const Options options_;
  const Cancel stopped_;
  const std::shared_ptr<std::atomic<std::uint64_t>> memory_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::mutex mutex_;
  bool is_stopped_ = false;
  std::list<Worker> workers_;
};

}  // namespace runtime
