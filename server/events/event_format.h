// The form in which a client asks for events over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/http/message.h"

namespace server {

enum class EventFormat : std::uint8_t {
  sse,     // text/event-stream: "data: ", the event, and an empty line
  ndjson,  // application/x-ndjson: one line for each event
};

std::string_view media_type_of(EventFormat format) noexcept;

// The format whose media type has the highest quality in the request's Accept headers. Returns
// std::nullopt where they name neither, or application/json with no lower quality: a request that
// does not ask for a stream is answered as a whole.
std::optional<EventFormat> event_format_of(const RequestHead& head);

}  // namespace server
