// Whether a request wants events to be followed, and in which form.
#pragma once

#include <optional>

#include "server/events/event_format.h"
#include "server/http/message.h"

namespace server {

// Returns the format in which events are to be followed; std::nullopt where the client wants a
// page. `follows` says that the query asks for it.
inline std::optional<EventFormat> follow_format(const RequestHead& head, bool follows) {
  const auto format = event_format_of(head);
  return follows && !format ? EventFormat::sse : format;
}

}  // namespace server
