#include "server/http/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace server {
namespace {

using boost::asio::ip::tcp;
using jail::Error;
using jail::ErrorKind;
using jail::Result;

Error cannot_listen(const std::string& where, int error, std::string hint = {}) {
  return {ErrorKind::refused, "listen on " + where, error, std::move(hint)};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

jail::Fd unix_socket() {
  return jail::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Returns 0 where nobody listens at the path, so that the file may be removed.
int why_taken(const std::string& path) {
  const sockaddr_un address = address_of(path);
  const jail::Fd probe = unix_socket();
  if (!probe.valid()) return errno;
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(probe.get(), name, sizeof address) == 0) return EADDRINUSE;
  if (errno == ECONNREFUSED || errno == ENOENT) return 0;
  return errno == EAGAIN ? EADDRINUSE : errno;  // the listener's queue is full
}

Result<void> make_room(const std::string& path) {
  const std::string where = "unix:" + path;
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0) {
    if (errno == ENOENT) return {};
    return cannot_listen(where, errno);
  }
  if (!S_ISSOCK(before.st_mode)) {
    return cannot_listen(where, EEXIST, "what is there is no socket; it is left alone");
  }
  if (const int error = why_taken(path); error != 0) {
    return cannot_listen(where, error,
                         error == EADDRINUSE ? "another process listens there; choose another path "
                                               "with API_HOST or --host"
                                             : "whether somebody listens there cannot be told");
  }
  // Another server that starts at the same time may have been quicker.
  struct stat now {};
  const bool same = ::lstat(path.c_str(), &now) == 0 && now.st_ino == before.st_ino &&
                    now.st_dev == before.st_dev;
  if (same && ::unlink(path.c_str()) != 0) return cannot_listen(where, errno);
  return {};
}

}  // namespace

SocketFile::SocketFile(std::string path) {
  struct stat entry {};
  if (::lstat(path.c_str(), &entry) != 0) return;
  path_ = std::move(path);
  device_ = entry.st_dev;
  inode_ = entry.st_ino;
}

void SocketFile::swap(SocketFile& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
}

void SocketFile::remove() {
  const std::string path = std::exchange(path_, {});
  struct stat entry {};
  if (path.empty() || ::lstat(path.c_str(), &entry) != 0) return;
  if (entry.st_dev == device_ && entry.st_ino == inode_) ::unlink(path.c_str());
}

Result<Listener> listen_tcp(const std::string& host, std::uint16_t port) {
  const auto failure = [&](int error) {
    std::string hint;
    if (error == EADDRINUSE) {
      hint = "another process listens there; choose another with API_PORT or --port";
    } else if (error == EACCES) {
      hint =
          "low ports are for root and CAP_NET_BIND_SERVICE; choose another with API_PORT or --port";
    }
    return cannot_listen(host + " port " + std::to_string(port), error, std::move(hint));
  };
  boost::system::error_code error;
  const auto address =
      boost::asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) return failure(error.value());
  tcp::endpoint endpoint(address, port);
  Listener listener;
  listener.socket = jail::Fd(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int fd = listener.socket.get();
  // A restart must not wait for the old connections' TIME_WAIT; two listeners at a time stay
  // impossible.
  const int on = 1;
  auto size = static_cast<socklen_t>(endpoint.size());
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd, endpoint.data(), size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, endpoint.data(), &size) != 0) {
    return failure(errno);
  }
  listener.port = endpoint.port();
  return listener;
}

Result<Listener> listen_unix(const std::string& path, mode_t mode) {
  const std::string where = "unix:" + path;
  if (auto room = make_room(path); !room) return room.error();
  Listener listener;
  listener.socket = unix_socket();
  const int fd = listener.socket.get();
  const sockaddr_un address = address_of(path);
  // The file gets the socket's own mode, reduced by the umask; the missing bits are added
  // afterwards, when the file exists. The umask itself belongs to all threads.
  if (fd < 0 || ::fchmod(fd, mode) != 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return cannot_listen(where, errno);
  }
  listener.file = SocketFile(path);
  if (::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW) != 0 ||
      ::listen(fd, SOMAXCONN) != 0) {
    return cannot_listen(where, errno);
  }
  return listener;
}

}  // namespace server
