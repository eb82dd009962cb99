#include "runtime/sandbox/cancel.h"

#include <mutex>
#include <utility>

namespace runtime {

struct Cancel::State {
  std::mutex mutex;
  bool requested = false;
  std::function<void()> on_request;
};

Cancel::Cancel() : state_(std::make_shared<State>()) {}

void Cancel::request() const {
  std::function<void()> hook;
  {
    const std::lock_guard lock(state_->mutex);
    state_->requested = true;
    hook = std::exchange(state_->on_request, nullptr);
  }
  if (hook) hook();
}

bool Cancel::requested() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->requested;
}

void Cancel::set_hook(std::function<void()> hook) const {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->requested) {
      state_->on_request = std::move(hook);
      return;
    }
  }
  if (hook) hook();
}

}  // namespace runtime
