#include "runtime/sandbox/run_result.h"

namespace runtime {

std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::success:
      return "success";
    case Status::error:
      return "error";
    case Status::timeout:
      return "timeout";
    case Status::out_of_memory:
      return "out_of_memory";
    case Status::killed:
      return "killed";
    case Status::violation:
      return "violation";
    case Status::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(NetworkDecision::Kind kind) noexcept {
  switch (kind) {
    case NetworkDecision::Kind::refused:
      return "refused";
    case NetworkDecision::Kind::failed:
      return "failed";
    case NetworkDecision::Kind::allowed:
      return "allowed";
  }
  return "unknown";
}

}  // namespace runtime
