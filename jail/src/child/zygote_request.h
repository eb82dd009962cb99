// How init has a template's zygote fork a process into its jail.
#pragma once

#include <sys/socket.h>

#include "child/wire.h"

namespace jail::child {

class ZygoteRequest {
 public:
  // `zygote` is the descriptor where guests are asked for, or -1; `cgroup` is the directory of the
  // jail's cgroup, or -1.
  ZygoteRequest(int zygote, int cgroup) : zygote_(zygote), cgroup_(cgroup) {}

  // Must be called first. Opens this process's own namespaces, which the kernel lets it do even
  // where nobody else may, and asks for a fork that runs nothing. Waits for that fork. The fork
  // waits, as `guest` says, until the returned channel is closed. Returns a negative number where
  // there is none, and `guest` has the errno.
  long fork_waiting(int proc, const int* streams, wire::GuestReport& guest);

  bool can_fork() const { return zygote_ >= 0; }

  // `channel` is the guest's end of its channel to init, `invocation` a file or -1, `flags` as for
  // sendmsg(2). The zygote joins by the namespaces that were opened, where they were. Nobody may be
  // there any more. 0 or a negative errno.
  long ask(int channel, int invocation, const int* streams, std::uint32_t work,
           int flags = MSG_DONTWAIT) const;

 private:
  long open_namespaces(int proc);
  long receive_report(int channel, wire::GuestReport& guest) const;

  int zygote_;
  int cgroup_;
  int namespaces_[wire::max_namespaces] = {};
  std::uint32_t opened_ = 0;  // of them
};

}  // namespace jail::child
