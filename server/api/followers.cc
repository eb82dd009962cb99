#include "server/api/followers.h"

#include <string>
#include <utility>

#include "runtime/service/refusal.h"
#include "server/api/refusals.h"

namespace server {
namespace {

Response too_many(runtime::Refusal::Reason reason, std::string detail, std::uint32_t limit) {
  return response_of({.reason = reason,
                      .detail = std::move(detail),
                      .limit = std::int64_t{limit},
                      .used = std::int64_t{limit},
                      .remedy = "end another one, or ask for pages",
                      .code = "too_many_followers"});
}

}  // namespace

std::variant<std::optional<EventFormat>, Response> follow_format(const Call& call) {
  const auto follows = flag_of(call.query, "follow");
  if (!follows) return problem(400, "follow: expected true or false");
  const auto format = event_format_of(call.head);
  if (*follows && !format) return std::optional(EventFormat::sse);
  return format;
}

std::variant<Followers::Place, Response> Followers::take(const runtime::Principal& principal) {
  const std::lock_guard lock(mutex_);
  if (of_keys_[principal.key] >= most_of_a_key) {
    return too_many(runtime::Refusal::Reason::caller_limit,
                    "this caller follows as many sandboxes at a time as it may", most_of_a_key);
  }
  if (all_ >= most) {
    return too_many(runtime::Refusal::Reason::busy, "as many follow sandboxes at a time as may",
                    most);
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

}  // namespace server
