// Whether a request wants events to be followed, and in which form.
#pragma once

#include <optional>

#include "server/events/event_format.h"
#include "server/http/message.h"

namespace server {

// In which format events are to be followed; nothing: a page is wanted. `follows`: the query says
// that they are.
inline std::optional<EventFormat> follow_format(const RequestHead& head, bool follows) {
  const auto format = event_format_of(head);
  return follows && !format ? EventFormat::sse : format;
}

}  // namespace server
