#include "runtime/sandbox/admission.h"

#include <algorithm>

namespace runtime {

Admission::Ticket Admission::ask(std::function<void(Place)> granted) {
  auto ticket = std::make_shared<std::function<void(Place)>>(std::move(granted));
  {
    const std::lock_guard lock(mutex_);
    if (taken_ >= places_) {
      if (waiting_.size() >= queue_limit_) return nullptr;
      waiting_.push_back(ticket);
      return ticket;
    }
    ++taken_;
  }
  (*ticket)(Place(*this));
  return ticket;
}

bool Admission::withdraw(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(waiting_.begin(), waiting_.end(), ticket);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

void Admission::give_back() {
  Ticket next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      --taken_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  (*next)(Place(*this));  // the place changes hands without becoming free
}

std::uint32_t Admission::running() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::uint32_t Admission::queued() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(waiting_.size());
}

}  // namespace runtime
