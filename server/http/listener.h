// Listening sockets: their addresses and access modes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "jail/fd.h"
#include "jail/result.h"

namespace server {

// The name of a Unix socket in the file system. Must be destroyed before the socket is closed.
// Removes the file unless another one has the name by then, which the inode's number shows: it is
// not reused until the socket is closed.
class SocketFile {
 public:
  SocketFile() = default;
  // Refers to the file that is at `path` now.
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept { swap(other); }
  SocketFile& operator=(SocketFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SocketFile() { remove(); }

  void remove();

 private:
  void swap(SocketFile& other) noexcept;

  std::string path_;  // empty: there is none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct Listener {
  jail::Fd socket;
  std::uint16_t port = 0;  // the bound port; 0 for a Unix socket
  SocketFile file;         // for a Unix socket
};

// `host` is an IP address or "localhost".
// Errors: the address cannot be bound.
jail::Result<Listener> listen_tcp(const std::string& host, std::uint16_t port);

// Makes a socket that has `mode` from its first moment on. One that a dead server left is replaced.
// Errors: somebody listens there, something else is there, or it cannot be made.
jail::Result<Listener> listen_unix(const std::string& path, mode_t mode);

}  // namespace server
