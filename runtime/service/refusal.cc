#include "runtime/service/refusal.h"

namespace runtime {

std::string_view name_of(Refusal::Reason reason) noexcept {
  switch (reason) {
    case Refusal::Reason::busy:
      return "busy";
    case Refusal::Reason::caller_limit:
      return "caller_limit";
    case Refusal::Reason::host_exhausted:
      return "host_exhausted";
    case Refusal::Reason::too_slow:
      return "too_slow";
    case Refusal::Reason::invalid:
      return "bad_request";
    case Refusal::Reason::no_provider:
      return "failed_dependency";
    case Refusal::Reason::not_found:
      return "not_found";
    case Refusal::Reason::conflict:
      return "conflict";
    case Refusal::Reason::forbidden:
      return "forbidden";
    case Refusal::Reason::disk_full:
      return "disk_full";
    case Refusal::Reason::bad_gateway:
      return "bad_gateway";
    case Refusal::Reason::gateway_timeout:
      return "gateway_timeout";
    case Refusal::Reason::failed:
      break;
  }
  return "failed";
}

}  // namespace runtime
