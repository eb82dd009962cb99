// What launchers, inits and zygotes report, as read by the owner.
#pragma once

#include <string>

#include "child/wire.h"
#include "jail/fd.h"
#include "jail/result.h"

namespace jail {

// A received message with the descriptor that came along.
struct Received {
  wire::Message message{};
  Fd fd;
};

enum class Reading {
  got,
  nothing,
  over,
  no_room,  // a descriptor came along for which this process has no number left
};

// Does not wait. A datagram that is not a message gives Reading::over; a descriptor that came with
// it is in `out` all the same, so that it gets closed.
Reading receive(int socket, Received& out);

// The error of Reading::no_room.
Error no_room_for_descriptor();

// The error of a clone3 that failed with this errno.
Error launch_error(int error);

// The error of wire::message_failed; `step` is what was attempted.
Error step_error(const wire::Message& message, std::string step);

}  // namespace jail
