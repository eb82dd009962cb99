// The output of a process up to its end, for callers that want it as a whole.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "runtime/living/living_process.h"
#include "runtime/sandbox/cancel.h"

namespace runtime {

// Kills the process if its caller leaves before it has ended.
class Leash {
 public:
  explicit Leash(std::shared_ptr<LivingProcess> process) : process_(std::move(process)) {}
  ~Leash() {
    if (process_ != nullptr) process_->cancel();
  }
  Leash(const Leash&) = delete;
  Leash& operator=(const Leash&) = delete;
  // Must be called when the process has ended or may go on.
  void let_go() noexcept { process_ = nullptr; }

 private:
  std::shared_ptr<LivingProcess> process_;
};

struct ProcessOutput {
  struct Kept {
    std::string bytes;
    bool is_truncated = false;  // there was more than was kept
  };
  Kept out;
  Kept err;
  bool has_ended = false;  // false: it was cancelled and killed
};

// Waits for the end of a process whose output nobody has read yet; kills it when `cancel` is
// requested. Keeps the first `max_bytes` of each output.
boost::asio::awaitable<ProcessOutput> output_to_the_end(std::shared_ptr<LivingProcess> process,
                                                        Cancel cancel,
                                                        std::size_t max_bytes = 1u << 20);

}  // namespace runtime
