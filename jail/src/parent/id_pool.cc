#include "parent/id_pool.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <utility>

namespace jail {

IdLease::IdLease(std::shared_ptr<IdRange::State> pool, std::uint32_t index) noexcept
    : pool_(std::move(pool)), index_(index) {}

IdLease::~IdLease() {
  if (pool_ != nullptr) pool_->take_back(index_);
}

wire::Ids IdLease::ids() const noexcept {
  return {pool_->ids.first_uid + index_, pool_->ids.first_gid + index_};
}

void IdRange::State::take_back(std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  former_.push_back(index);
}

// Asks the kernel, which knows them all: those of a jail that is about to end, and those of others
// who were given the same range by mistake.
bool IdRange::State::is_in_use(std::uint32_t index) const {
  errno = 0;
  return ::getpriority(PRIO_USER, ids.first_uid + index) != -1 || errno != ESRCH;
}

// Programs that were given the same range, such as two commands of one user, begin elsewhere.
IdRange::State::State(const IdsOfJails& the_ids) : ids(the_ids) {
  if (::getrandom(&first_, sizeof first_, 0) != sizeof first_) first_ = 0;
  first_ %= ids.count;
}

Result<IdLease> IdRange::State::lease() {
  const std::lock_guard lock(mutex_);
  while (fresh_ < ids.count) {
    const auto index = static_cast<std::uint32_t>((std::uint64_t{first_} + fresh_++) % ids.count);
    if (!is_in_use(index)) return IdLease(shared_from_this(), index);
    former_.push_back(index);
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
