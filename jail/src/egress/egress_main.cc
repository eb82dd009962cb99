// The proxy as a program: descriptors 3 (who started it), 5 (settings), 6 (system call filter),
// nothing else of the caller's.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "egress/confine.h"
#include "egress/proxy.h"

namespace jail::egress {
namespace {

// To its end, and closed.
std::optional<std::string> take_file(int fd) {
  std::string text;
  char bytes[4096];
  ssize_t got;
  while ((got = ::pread(fd, bytes, sizeof bytes, static_cast<off_t>(text.size()))) > 0) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return got < 0 ? std::nullopt : std::optional(std::move(text));
}

// False where nobody listens any more.
bool tell(const Confinement& confinement) {
  const std::string datagram = to_datagram(confinement);
  return ::send(control_fd, datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0;
}

int run() {
  const auto text = take_file(settings_fd);
  const auto filter = take_file(filter_fd);
  ::close(image_fd);
  auto settings = parse_settings(text.value_or(""));
  if (!settings || !filter) return 1;
  ::prctl(PR_SET_NAME, "jail-egress", 0, 0, 0);
  // Before there are other threads, and before anything of a stranger is read.
  const Confinement confinement = confine(*filter);
  if (!tell(confinement) || confinement.error != 0) return 1;
  Proxy proxy(control_fd, std::move(*settings), look_up);
  make_no_more_threads();
  const int status = proxy.run() ? 0 : 1;
  // At once: a look-up that is under way may take its time.
  ::_exit(status);
}

}  // namespace
}  // namespace jail::egress

int main() { return jail::egress::run(); }
