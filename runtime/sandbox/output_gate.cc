#include "runtime/sandbox/output_gate.h"

#include <mutex>
#include <utility>
#include <vector>

namespace runtime {

struct OutputGate::State {
  std::mutex mutex;
  bool open = true;
  std::vector<const Listener*> listeners;
};

OutputGate::OutputGate() : state_(std::make_shared<State>()) {}

void OutputGate::close() const {
  const std::lock_guard lock(state_->mutex);
  state_->open = false;
}

void OutputGate::open() const {
  const std::lock_guard lock(state_->mutex);
  if (std::exchange(state_->open, true)) return;
  for (const Listener* listener : state_->listeners) listener->callback_();
}

bool OutputGate::is_open() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->open;
}

OutputGate::Listener::Listener(const OutputGate& gate, std::function<void()> callback)
    : state_(gate.state_), callback_(std::move(callback)) {
  const std::lock_guard lock(state_->mutex);
  state_->listeners.push_back(this);
}

OutputGate::Listener::~Listener() {
  const std::lock_guard lock(state_->mutex);
  std::erase(state_->listeners, this);
}

}  // namespace runtime
