#include "runtime/service/abandoned_lookups.h"

namespace runtime {

void AbandonedLookups::note(const std::string& owner, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_what_ended(now);
  lookups_.push_back({.owner = owner, .left_at = now});
  ++count_[owner];
}

bool AbandonedLookups::has_too_many(const std::string& owner, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  forget_what_ended(now);
  const auto found = count_.find(owner);
  return found != count_.end() && found->second >= max_per_owner;
}

void AbandonedLookups::forget_what_ended(Clock::time_point now) {
  while (!lookups_.empty() && now - lookups_.front().left_at >= longest_lookup) {
    const auto found = count_.find(lookups_.front().owner);
    if (--found->second == 0) count_.erase(found);
    lookups_.pop_front();
  }
}

}  // namespace runtime
