// Gets a cgroup from systemd: a transient unit around this process.
#pragma once

#include <chrono>
#include <string>

#include "jail/result.h"

namespace runtime {

struct ScopeRequest {
  // The socket of systemd itself, that of the system or of a user, which exists even where there is
  // no message bus.
  std::string socket;
  std::string name;  // "agent-sandbox-123.scope"
  std::chrono::milliseconds patience{2000};
};

// Afterwards this process is in the unit's cgroup, delegated with all controllers. Errors:
// unsupported (no systemd listens on the socket), timed_out (no answer within the patience),
// refused (with systemd's words), kernel.
jail::Result<void> enter_systemd_scope(const ScopeRequest& request);

}  // namespace runtime
