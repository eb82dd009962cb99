#include "runtime/agent/task.h"

namespace runtime::agent {

std::string_view to_string(TaskStatus status) noexcept {
  switch (status) {
    case TaskStatus::completed:
      return "completed";
    case TaskStatus::failed:
      return "failed";
    case TaskStatus::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace runtime::agent
