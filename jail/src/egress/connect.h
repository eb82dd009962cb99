// Sockets towards the other side.
#pragma once

#include <cstdint>
#include <string>

#include "egress/address.h"
#include "jail/fd.h"

namespace jail::egress {

// A connection under way; writable when it stands or has failed. Invalid with errno: none was
// begun.
Fd start_connection(const Address& address, std::uint16_t port);

std::string error_text(int error);

}  // namespace jail::egress
