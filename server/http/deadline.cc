#include "server/http/deadline.h"

#include <utility>

namespace server {

void Deadline::set(std::chrono::milliseconds from_now, std::function<void()> late) {
  due_ = Clock::now() + from_now;
  late_ = std::move(late);
  if (!ticking_ || due_ < timer_.expiry()) start_timer();
}

void Deadline::hasten(std::chrono::milliseconds from_now) {
  const auto due = Clock::now() + from_now;
  if (late_ && due < due_) set(from_now, std::exchange(late_, nullptr));
}

void Deadline::clear() { late_ = nullptr; }

// A pending wait ends as cancelled. Where it has just ended by itself it looks too early, which
// does no harm.
void Deadline::start_timer() {
  ticking_ = true;
  timer_.expires_at(due_);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self != nullptr) self->look();
  });
}

void Deadline::look() {
  ticking_ = false;
  if (!late_) return;
  if (Clock::now() < due_) return start_timer();
  std::exchange(late_, nullptr)();
}

}  // namespace server
