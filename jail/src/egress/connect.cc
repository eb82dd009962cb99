#include "egress/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

namespace jail::egress {

Fd start_connection(const Address& address, std::uint16_t port) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  if (address.family == Family::v4) {
    auto* to = reinterpret_cast<sockaddr_in*>(&storage);
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    std::copy_n(address.bytes.begin(), 4, reinterpret_cast<std::uint8_t*>(&to->sin_addr));
    size = sizeof *to;
  } else {
    auto* to = reinterpret_cast<sockaddr_in6*>(&storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(port);
    std::copy_n(address.bytes.begin(), 16, to->sin6_addr.s6_addr);
    size = sizeof *to;
  }
  Fd fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return fd;
  int result = 0;
  do {
    result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size);
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

std::string error_text(int error) {
  const char* text = ::strerrordesc_np(error);
  return text == nullptr ? "error " + std::to_string(error) : text;
}

}  // namespace jail::egress
