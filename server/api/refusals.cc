#include "server/api/refusals.h"

#include <utility>
#include <vector>

namespace server {
namespace {

int status_of(runtime::Refusal::Reason reason) {
  using Reason = runtime::Refusal::Reason;
  switch (reason) {
    case Reason::failed:
      return 500;
    case Reason::invalid:
      return 400;
    case Reason::forbidden:
      return 403;
    case Reason::no_provider:
      return 424;
    case Reason::not_found:
      return 404;
    case Reason::conflict:
      return 409;
    case Reason::caller_limit:
      return 429;
    case Reason::disk_full:
      return 507;
    case Reason::bad_gateway:
      return 502;
    case Reason::gateway_timeout:
      return 504;
    case Reason::busy:
    case Reason::host_exhausted:
    case Reason::too_slow:
      break;
  }
  return 503;
}

}  // namespace

Response response_of(const runtime::Refusal& refusal) {
  const int status = status_of(refusal.reason);
  std::vector<Header> headers;
  if (status == 429 || status == 503) headers.push_back({"Retry-After", "1"});
  std::string_view code = refusal.code;
  if (code.empty() && status != 500) code = name_of(refusal.reason);
  return problem(
      status, refusal.detail, std::move(headers),
      {.code = code, .limit = refusal.limit, .used = refusal.used, .remedy = refusal.remedy});
}

}  // namespace server
