#include "parent/id_pool.h"

#include <errno.h>
#include <sys/resource.h>

#include <utility>

namespace jail {
namespace {

// A launcher that has not made a jail by then was stopped, or the host stands still.
constexpr std::chrono::seconds longest_launch{60};

}  // namespace

IdLease::IdLease(std::shared_ptr<IdRange::State> pool, std::uint32_t index) noexcept
    : pool_(std::move(pool)), index_(index) {}

IdLease::~IdLease() {
  using Clock = IdRange::State::Clock;
  if (pool_ == nullptr) return;
  pool_->take_back(index_, later_ ? Clock::now() + longest_launch : Clock::time_point());
}

wire::Ids IdLease::ids() const noexcept {
  return {pool_->ids.first_uid + index_, pool_->ids.first_gid + index_};
}

void IdRange::State::take_back(std::uint32_t index, Clock::time_point from) {
  const std::lock_guard lock(mutex_);
  if (from == Clock::time_point()) {
    former_.push_back(index);
  } else {
    awaited_.push_back({index, from});
  }
}

// Asks the kernel, which knows them all: those of a jail that is about to end, and those of others
// who were given the same range by mistake.
bool IdRange::State::is_in_use(std::uint32_t index) const {
  errno = 0;
  return ::getpriority(PRIO_USER, ids.first_uid + index) != -1 || errno != ESRCH;
}

Result<IdLease> IdRange::State::lease(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  for (; !awaited_.empty() && awaited_.front().from <= now; awaited_.pop_front()) {
    former_.push_back(awaited_.front().index);
  }
  for (; fresh_ < ids.count; former_.push_back(fresh_++)) {
    if (!is_in_use(fresh_)) return IdLease(shared_from_this(), fresh_++);
  }
  for (std::size_t left = former_.size(); left > 0; --left) {
    const std::uint32_t index = former_.front();
    former_.pop_front();
    if (!is_in_use(index)) return IdLease(shared_from_this(), index);
    former_.push_back(index);
  }
  return Error{ErrorKind::exhausted, "find a user of its own for a jail", 0,
               "all " + std::to_string(ids.count) + " of the range are in use"};
}

}  // namespace jail
