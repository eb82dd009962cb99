#include "runtime/agent/cancel_fan.h"

#include <mutex>
#include <utility>

namespace runtime::agent {

struct CancelFan::State {
  std::mutex mutex;
  bool requested = false;
  std::list<Cancel> branches;

  // Hooks are called without the lock: one of them may end its branch.
  void request() {
    std::list<Cancel> told;
    {
      const std::lock_guard lock(mutex);
      requested = true;
      told = branches;
    }
    for (const Cancel& one : told) one.request();
  }
};

CancelFan::CancelFan(Cancel parent)
    : parent_(std::move(parent)), state_(std::make_shared<State>()) {
  parent_.set_hook(requester());
}

CancelFan::~CancelFan() { parent_.set_hook(nullptr); }

void CancelFan::request() const { state_->request(); }

std::function<void()> CancelFan::requester() const {
  return [state = state_] { state->request(); };
}

CancelFan::Branch::Branch(std::shared_ptr<State> state) : state_(std::move(state)) {
  bool requested = false;
  {
    const std::lock_guard lock(state_->mutex);
    place_ = state_->branches.emplace(state_->branches.end());
    requested = state_->requested;
  }
  if (requested) place_->request();
}

CancelFan::Branch::~Branch() {
  const std::lock_guard lock(state_->mutex);
  state_->branches.erase(place_);
}

}  // namespace runtime::agent
