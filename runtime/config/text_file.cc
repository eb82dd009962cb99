#include "runtime/config/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "jail/fd.h"

namespace runtime {

jail::Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes) {
  const jail::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return jail::Error{jail::ErrorKind::kernel, "open " + path, errno, {}};
  std::string text;
  std::array<char, 16384> room;
  for (;;) {
    const ssize_t count = ::read(file.get(), room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return jail::Error{jail::ErrorKind::kernel, "read " + path, errno, {}};
    if (count == 0) return text;
    text.append(room.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) {
      return jail::Error{jail::ErrorKind::invalid,
                         path + ": larger than " + std::to_string(max_bytes) + " bytes",
                         0,
                         {}};
    }
  }
}

}  // namespace runtime
