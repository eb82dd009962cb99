#include "child/zygote_request.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "child/channel.h"
#include "child/proc_files.h"
#include "child/raw_syscall.h"

namespace jail::child {

long ZygoteRequest::open_namespaces(int proc) {
  // The zygote joins the first one, and a child of it the others, which the second one gives it the
  // right to.
  constexpr const char* names[wire::max_namespaces] = {"pid", "user", "mnt",   "net",
                                                       "ipc", "uts",  "cgroup"};
  for (std::size_t i = 0; i < wire::max_namespaces; ++i) {
    const long fd = raw::call(SYS_openat, proc, raw::address(joined({"1/ns/", names[i]}).text),
                              O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fd;
    namespaces_[i] = static_cast<int>(fd);
    ++opened_;
  }
  return 0;
}

// The listener of the fork comes first, and is closed. Returns 0 or a negative errno.
long ZygoteRequest::receive_report(int channel, wire::GuestReport& guest) const {
  for (;;) {
    wire::GuestReport heard{};
    const long got = receive(channel, &heard, sizeof heard, nullptr, 0, nullptr, 0);
    if (got == -EINTR || got == sizeof(wire::Listener)) continue;
    if (got != sizeof heard) return got < 0 ? got : -ECHILD;
    guest = heard;
    return -heard.error;
  }
}

long ZygoteRequest::fork_waiting(int proc, const int* streams, wire::GuestReport& guest) {
  guest = {-1, 0, 0, 0, 0, 0};
  int ends[2] = {-1, -1};
  long done = open_namespaces(proc);
  if (done == 0) {
    done = raw::call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw::address(ends));
  }
  if (done == 0) done = ask(ends[1], -1, streams, wire::guest_in_company);
  raw::call(SYS_close, ends[1]);
  if (done == 0) done = receive_report(ends[0], guest);
  if (done == 0) return ends[0];
  guest.error = static_cast<std::int32_t>(-done);
  raw::call(SYS_close, ends[0]);
  return done;
}

long ZygoteRequest::ask(int channel, int invocation, const int* streams, std::uint32_t work,
                        int flags) const {
  wire::GuestRequest request{wire::plan_magic, 0, work, opened_};
  const long self = raw::call(SYS_pidfd_open, raw::call(SYS_getpid), 0);
  if (self < 0) return self;
  int fds[wire::max_guest_fds] = {static_cast<int>(self), channel, streams[0], streams[1],
                                  streams[2]};
  std::size_t count = wire::min_guest_fds;
  if (cgroup_ >= 0) {
    request.fds |= wire::launch_cgroup;
    fds[count++] = cgroup_;
  }
  if (invocation >= 0) {
    request.fds |= wire::launch_invocation;
    fds[count++] = invocation;
  }
  for (std::uint32_t i = 0; i < opened_; ++i) fds[count++] = namespaces_[i];
  const long sent = send_bytes(zygote_, &request, sizeof request, fds, count, flags);
  raw::call(SYS_close, self);
  return sent < 0 ? sent : 0;
}

}  // namespace jail::child
