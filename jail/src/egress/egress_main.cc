// The proxy as a program: descriptors 3 (who started it), 5 (settings), nothing else of the
// caller's.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "egress/proxy.h"

namespace jail::egress {
namespace {

constexpr rlim_t most_descriptors = 16'384;  // two for each connection

void limit(auto resource, rlim_t most) {
  rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return;
  limits.rlim_max = std::min(limits.rlim_max, most);
  limits.rlim_cur = limits.rlim_max;
  ::setrlimit(resource, &limits);
}

// It reads what strangers send, in the network of the host. It gains no rights, nobody looks into
// it, and it writes no file.
bool confine() {
  limit(RLIMIT_NOFILE, most_descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

std::optional<Settings> read_settings() {
  std::string text;
  char bytes[4096];
  ssize_t got;
  while ((got = ::pread(settings_fd, bytes, sizeof bytes, static_cast<off_t>(text.size()))) > 0) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  ::close(settings_fd);
  ::close(image_fd);
  return got < 0 ? std::nullopt : parse_settings(text);
}

int run() {
  auto settings = read_settings();
  if (!settings || !confine()) return 1;
  ::prctl(PR_SET_NAME, "jail-egress", 0, 0, 0);
  Proxy proxy(control_fd, std::move(*settings), look_up);
  // Its threads are started; it makes no other process.
  limit(RLIMIT_NPROC, 0);
  const int status = proxy.run() ? 0 : 1;
  // At once: a look-up that is under way may take its time.
  ::_exit(status);
}

}  // namespace
}  // namespace jail::egress

int main() { return jail::egress::run(); }
