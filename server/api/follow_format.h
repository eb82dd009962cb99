// Whether a request wants events to be followed, and in which form.
#pragma once

#include <optional>
#include <variant>

#include "server/api/routes.h"
#include "server/events/event_format.h"
#include "server/http/message.h"

namespace server {

// In which format events are to be followed; nothing: a page is wanted. A Response says what is
// wrong.
std::variant<std::optional<EventFormat>, Response> follow_format(const Call& call);

}  // namespace server
