#include "parent/messages.h"

#include <errno.h>
#include <sys/socket.h>

#include <span>
#include <utility>

#include "parent/fd_passing.h"
#include "parent/order.h"

namespace jail {
namespace {

constexpr const char* on_their_way =
    "this user's processes have more descriptors on their way to each other than ulimit -n";

// What usually stands behind a step that the kernel refuses.
std::string step_hint(const wire::Message& message, const std::string& step) {
  if (message.error == ETOOMANYREFS) return on_their_way;
  if (message.phase != 0) return {};
  if (step.find("overlay") != std::string::npos) {
    return message.error == EINVAL
               ? "something is mounted below that directory, or it stands on two overlays already; "
                 "a root built for jails (rootfs/build) has neither"
               : "each jail has a root by overlayfs, which the kernel must offer to user "
                 "namespaces";
  }
  if (message.error != EPERM && message.error != EACCES) return {};
  if (step.find("proc") != std::string::npos) {
    return "inside a container whose /proc is masked no new /proc can be mounted; see "
           "agent-sandbox "
           "doctor";
  }
  return "this host restricts what an unprivileged user namespace may do; see agent-sandbox doctor";
}

}  // namespace

Error no_room_for_descriptor() {
  errno = EMFILE;
  return system_error("take a jail's descriptor");
}

Error launch_error(int error) {
  Error result{ErrorKind::kernel, "clone a jail", error, {}};
  switch (error) {
    case EPERM:
    case EACCES:
      result.kind = ErrorKind::refused;
      result.hint = "unprivileged user namespaces are shut on this host; see agent-sandbox doctor";
      break;
    case ENOSPC:
    case EUSERS:
      result.kind = ErrorKind::exhausted;
      result.hint = "raise user.max_user_namespaces and its siblings (sysctl)";
      break;
    case EAGAIN:
    case ENOMEM:
      result.kind = ErrorKind::exhausted;
      result.hint = "the host is out of processes or memory";
      break;
    case ETOOMANYREFS:
      result.kind = ErrorKind::exhausted;
      result.hint = on_their_way;
      break;
    case ENOSYS:
      result.kind = ErrorKind::unsupported;
      break;
    default:
      break;
  }
  return result;
}

Error step_error(const wire::Message& message, std::string step) {
  // ENOMEM and ENOSPC come of a jail's own limits as well.
  const bool short_of = is_shortage(message.error);
  std::string hint = step_hint(message, step);
  return {short_of ? ErrorKind::exhausted : ErrorKind::kernel, std::move(step), message.error,
          std::move(hint)};
}

Reading receive(int socket, Received& out) {
  int flags = 0;
  const std::span room(reinterpret_cast<char*>(&out.message), sizeof out.message);
  const ssize_t got = receive_with_fd(socket, room, out.fd, flags);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Reading::nothing : Reading::over;
  const bool whole = got == static_cast<ssize_t>(sizeof out.message) && (flags & MSG_TRUNC) == 0;
  if (!whole) return Reading::over;
  // One that came along found no number here; a second one, which nobody sends, is not missed.
  const bool lost = (flags & MSG_CTRUNC) != 0 && !out.fd.valid();
  return lost ? Reading::no_room : Reading::got;
}

}  // namespace jail
