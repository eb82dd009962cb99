#include "runtime/service/followers.h"

#include <string>
#include <utility>

namespace runtime {
namespace {

Refusal too_many_followers(RefusalCode code, std::string detail, std::uint32_t limit) {
  return {.code = code,
          .detail = std::move(detail),
          .limit = std::int64_t{limit},
          .used = std::int64_t{limit},
          .remedy = "end another one, or ask for pages"};
}

}  // namespace

std::variant<Followers::Place, Refusal> Followers::take(const Principal& principal) {
  const std::lock_guard lock(mutex_);
  if (of_keys_[principal.key] >= max_per_key) {
    return too_many_followers(RefusalCode::too_many_followers,
                              "this caller follows as many sandboxes at a time as it may",
                              max_per_key);
  }
  if (all_ >= most) {
    return too_many_followers(RefusalCode::busy, "as many follow sandboxes at a time as may", most);
  }
  ++all_;
  ++of_keys_[principal.key];
  return Place(nullptr,
               [self = shared_from_this(), key = principal.key](void*) { self->give_back(key); });
}

void Followers::give_back(std::optional<std::size_t> key) {
  const std::lock_guard lock(mutex_);
  --all_;
  --of_keys_[key];
}

}  // namespace runtime
