#include "runtime/service/port_places.h"

#include <utility>

namespace runtime {

std::shared_ptr<PortPlaces> PortPlaces::create(std::uint32_t max_connections,
                                               std::uint32_t max_per_owner) {
  return std::shared_ptr<PortPlaces>(new PortPlaces(max_connections, max_per_owner));
}

std::variant<std::shared_ptr<void>, Refusal> PortPlaces::take(const std::string& owner) {
  {
    const std::lock_guard lock(mutex_);
    const auto own = of_owners_.find(owner);
    const std::uint32_t owned = own == of_owners_.end() ? 0 : own->second;
    // Where both are met, this is the one that the caller can do something about.
    if (owned >= max_per_owner_) {
      return Refusal{.code = RefusalCode::caller_limit,
                     .detail =
                         "too many connections to ports of this caller's sandboxes are open; "
                         "close one",
                     .limit = std::int64_t{max_per_owner_},
                     .used = std::int64_t{owned}};
    }
    if (all_ >= max_connections_) {
      return Refusal{.code = RefusalCode::busy,
                     .detail = "too many connections to ports of sandboxes are open; try again",
                     .limit = std::int64_t{max_connections_},
                     .used = std::int64_t{all_}};
    }
    ++all_;
    ++of_owners_[owner];
  }
  return std::shared_ptr<void>(
      nullptr, [self = shared_from_this(), owner](std::nullptr_t) { self->give_back(owner); });
}

void PortPlaces::give_back(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  --all_;
  const auto own = of_owners_.find(owner);
  if (--own->second == 0) of_owners_.erase(own);
}

}  // namespace runtime
