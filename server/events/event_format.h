// In which form a client asks for events over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "server/http/message.h"

namespace server {

enum class EventFormat : std::uint8_t {
  sse,     // text/event-stream: "data: " and the event, and an empty line
  ndjson,  // application/x-ndjson: a line for each event
};

std::string_view media_type_of(EventFormat format) noexcept;

// The format whose media type the request's Accept headers name with the highest quality. Nothing
// where they name none of them, or application/json with no lower quality: a request that does not
// ask for a stream is answered as a whole.
std::optional<EventFormat> event_format_of(const RequestHead& head);

}  // namespace server
