#include "parent/messages.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

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
  // The host's shortages; ENOMEM and ENOSPC come of a jail's own limits as well.
  const bool short_of = message.error == EAGAIN || message.error == EMFILE ||
                        message.error == ENFILE || message.error == ETOOMANYREFS;
  std::string hint = step_hint(message, step);
  return {short_of ? ErrorKind::exhausted : ErrorKind::kernel, std::move(step), message.error,
          std::move(hint)};
}

Reading receive(int socket, Received& out) {
  // Room for one descriptor: what CMSG_SPACE() rounds up to takes two, and the kernel would open a
  // second one that nobody closes.
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))] = {};
  iovec part{&out.message, sizeof out.message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Reading::nothing : Reading::over;
  // Taken first: it is this process's also where what it came with is no message.
  for (cmsghdr* part_header = CMSG_FIRSTHDR(&header); part_header != nullptr;
       part_header = CMSG_NXTHDR(&header, part_header)) {
    if (part_header->cmsg_level == SOL_SOCKET && part_header->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part_header), sizeof fd);
      out.fd.reset(fd);
    }
  }
  const bool whole =
      got == static_cast<ssize_t>(sizeof out.message) && (header.msg_flags & MSG_TRUNC) == 0;
  if (!whole) return Reading::over;
  // One that came along found no number here; a second one, which nobody sends, is not missed.
  const bool lost = (header.msg_flags & MSG_CTRUNC) != 0 && !out.fd.valid();
  return lost ? Reading::no_room : Reading::got;
}

}  // namespace jail
