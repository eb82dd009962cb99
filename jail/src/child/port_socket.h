// Sockets by which the owner of a living jail reaches servers inside.
#pragma once

#include "child/wire.h"

namespace jail::child {

// Sends a TCP socket of this process's network namespace, which is not connected and does not
// block, to the socket `answer`, or an error. A socket keeps its namespace, so the owner connects
// it and init never waits for a server of the guest.
void hand_out_socket(wire::OrderType order, int answer);

}  // namespace jail::child
