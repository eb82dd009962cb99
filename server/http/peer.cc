#include "server/http/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace server {
namespace {

std::string text_of(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* const written = ::inet_ntop(family, address, text.data(), text.size());
  return written == nullptr ? std::string() : written;
}

std::string peer_of_v6(in6_addr address) {
  unsigned char* const bytes = address.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return text_of(AF_INET, bytes + 12);
  if (IN6_IS_ADDR_LOOPBACK(&address)) return text_of(AF_INET6, &address);
  std::fill(bytes + 8, bytes + 16, static_cast<unsigned char>(0));
  return text_of(AF_INET6, &address) + "/64";
}

}  // namespace

std::string peer_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    return text_of(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  }
  if (address.ss_family == AF_INET6) {
    return peer_of_v6(reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  }
  return {};
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family != AF_UNIX) return peer_of(address);
  ucred credentials{};
  size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return "uid " + std::to_string(credentials.uid);
}

}  // namespace server
