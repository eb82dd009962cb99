// What a jail that fails, or is not ready in time, says about those who make it. Pure: its owner
// tells it what happens and how time goes.
#pragma once

#include <chrono>

namespace jail {

class Lateness {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  explicit Lateness(Duration deadline) : deadline_(deadline) {}

  void made(Time now) { last_made_ = now; }  // a jail is ready

  bool is_overdue(Time ordered, Time now) const { return now - ordered > deadline_; }

  // Returns whether a jail that was ordered then has failed, or is overdue, for reasons of its own:
  // another one has become ready since, and not too long ago.
  bool is_alone(Time ordered, Time now) const {
    return last_made_ > ordered && now - last_made_ <= deadline_;
  }

  // Returns whether one more jail should be ordered, to learn if others still come. `newest` is
  // when the last one of those was ordered that are being made.
  bool needs_proof(Time newest, Time now) const {
    return now - newest > deadline_ / proofs && last_made_ <= newest;
  }

 private:
  // No more than these are ordered in vain before the first jail is overdue.
  static constexpr int proofs = 5;

  Duration deadline_;
  Time last_made_{};
};

}  // namespace jail
