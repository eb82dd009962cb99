// Sockets for connections to the other side.
#pragma once

#include <cstdint>
#include <string>

#include "egress/address.h"
#include "jail/fd.h"

namespace jail::egress {

// Returns a connection under way, which becomes writable when it is established or has failed.
// Returns an invalid Fd and sets errno where none was begun.
Fd start_connection(const Address& address, std::uint16_t port);

std::string error_text(int error);

}  // namespace jail::egress
