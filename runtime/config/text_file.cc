#include "runtime/config/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "jail/fd.h"

namespace runtime {

jail::Result<std::string> read_text(int fd, const std::string& name, std::size_t max_bytes) {
  std::string text;
  std::array<char, 16384> room;
  for (;;) {
    const ssize_t count = ::read(fd, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return jail::Error{jail::ErrorKind::kernel, "read " + name, errno, {}};
    if (count == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) {
      const std::string bound = std::to_string(max_bytes);
      return jail::Error{
          jail::ErrorKind::invalid, name + ": larger than " + bound + " bytes", 0, {}};
    }
  }
}

jail::Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return jail::Error{jail::ErrorKind::kernel, "open " + path, errno, {}};
  return read_text(file.get(), path, max_bytes);
}

}  // namespace runtime
