// The proxy as a program, and the process that looks up names for it; its name says which. Both get
// the descriptors that wire.h names, and nothing else of the caller's.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

#include "egress/confine.h"
#include "egress/look_up.h"
#include "egress/proxy.h"

namespace jail::egress {
namespace {

// Reads the file to its end and closes it.
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

// Returns false where nobody listens any more.
bool tell(const Confinement& confinement) {
  const std::string datagram = to_datagram(confinement);
  return ::send(control_fd, datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0;
}

// Must be called before there are other threads, and before any byte of a stranger is read.
bool is_confined(const char* name, Files files) {
  const auto filter = take_file(filter_fd);
  ::close(image_fd);
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  if (!filter) return false;
  const Confinement confinement = confine(*filter, files);
  return tell(confinement) && confinement.error == 0;
}

int run_proxy() {
  const auto text = take_file(settings_fd);
  auto settings = parse_settings(text.value_or(""));
  if (!settings || !is_confined(proxy_name, Files::none)) return 1;
  make_no_more_threads();
  Proxy proxy(control_fd, Fd(names_fd), std::move(*settings));
  return proxy.run() ? 0 : 1;
}

int run_look_ups() {
  if (!is_confined(look_up_name, Files::readable)) return 1;
  ::close(control_fd);
  const auto threads = answer_questions(names_fd, look_up);
  make_no_more_threads();
  wait_for_end(names_fd);
  // The process ends before its threads are waited for, since a look-up under way may take long.
  ::_exit(0);
}

}  // namespace
}  // namespace jail::egress

int main(int count, char** arguments) {
  using namespace jail::egress;
  const std::string_view name = count > 0 ? arguments[0] : "";
  // The process ends by _exit(): what a program otherwise does at its end, above all a sanitizer's
  // search for leaks, needs more than the filter allows.
  ::_exit(name == look_up_name ? run_look_ups() : run_proxy());
}
