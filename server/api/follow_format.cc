#include "server/api/follow_format.h"

#include "server/api/query.h"

namespace server {

std::variant<std::optional<EventFormat>, Response> follow_format(const Call& call) {
  const auto follows = flag_of(call.query, "follow");
  if (!follows) return problem(400, "follow: expected true or false");
  const auto format = event_format_of(call.head);
  if (*follows && !format) return std::optional(EventFormat::sse);
  return format;
}

}  // namespace server
