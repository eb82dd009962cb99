#include <mutex>
#include <utility>

#include "runtime/sandbox/runner.h"

namespace runtime {

struct OutputGate::State {
  std::mutex mutex;
  bool open = true;
  std::function<void()> on_open;
};

OutputGate::OutputGate() : state_(std::make_shared<State>()) {}

void OutputGate::close() const {
  const std::lock_guard lock(state_->mutex);
  state_->open = false;
}

void OutputGate::open() const {
  std::function<void()> hook;
  {
    const std::lock_guard lock(state_->mutex);
    if (std::exchange(state_->open, true)) return;
    hook = state_->on_open;
  }
  if (hook) hook();
}

bool OutputGate::is_open() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->open;
}

void OutputGate::set_hook(std::function<void()> hook) const {
  const std::lock_guard lock(state_->mutex);
  state_->on_open = std::move(hook);
}

}  // namespace runtime
