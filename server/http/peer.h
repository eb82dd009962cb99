// The peer of a connection, for counting connections.
#pragma once

#include <sys/socket.h>

#include <string>

namespace server {

// Returns an IPv4 address; for an IPv6 address the 64 bits that one customer gets, who may use any
// address below them; at a Unix socket the user. Empty where the kernel does not tell.
std::string peer_of(int socket);

// The same for an address.
std::string peer_of(const sockaddr_storage& address);

}  // namespace server
