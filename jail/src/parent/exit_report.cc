#include "jail/exit_report.h"

namespace jail {

std::string_view to_string(Ended ended) noexcept {
  switch (ended) {
    case Ended::exited:
      return "exited";
    case Ended::signaled:
      return "signaled";
    case Ended::timed_out:
      return "timed out";
    case Ended::out_of_memory:
      return "out of memory";
    case Ended::violation:
      return "violation";
    case Ended::killed:
      return "killed";
    case Ended::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(Enforcer enforcer) noexcept {
  switch (enforcer) {
    case Enforcer::none:
      return "none";
    case Enforcer::rlimit:
      return "rlimit";
    case Enforcer::watchdog:
      return "watchdog";
    case Enforcer::cgroup:
      return "cgroup";
  }
  return "unknown";
}

}  // namespace jail
