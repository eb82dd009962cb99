// A cgroup of one's own from systemd: a transient unit around this process.
#pragma once

#include <chrono>
#include <string>

#include "jail/result.h"

namespace runtime {

struct ScopeRequest {
  // The socket on which systemd itself listens, of the system or of a user: it is there where no
  // message bus is.
  std::string socket;
  std::string name;  // "agent-sandbox-123.scope"
  std::chrono::milliseconds patience{2000};
};

// Afterwards this process stands in the unit's cgroup, delegated with all controllers.
// Errors: unsupported (no systemd there), exhausted (no answer in time), refused.
jail::Result<void> enter_systemd_scope(const ScopeRequest& request);

}  // namespace runtime
