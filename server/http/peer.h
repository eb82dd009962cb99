// Who a connection comes from, as far as connections are counted.
#pragma once

#include <sys/socket.h>

#include <string>

namespace server {

// An IPv4 address; of an IPv6 address the 64 bits that one customer gets, who may use any of what
// follows them; at a Unix socket the user. Empty where the kernel does not say, or not any more.
std::string peer_of(int socket);

// The same of an address.
std::string peer_of(const sockaddr_storage& address);

}  // namespace server
