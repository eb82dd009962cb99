#include "server/api/refusals.h"

#include <utility>
#include <vector>

namespace server {
namespace {

int status_of(runtime::Refusal::Reason reason) {
  using Reason = runtime::Refusal::Reason;
  if (reason == Reason::failed) return 500;
  return reason == Reason::caller_limit ? 429 : 503;
}

}  // namespace

Response response_of(const runtime::Refusal& refusal) {
  const bool is_failure = refusal.reason == runtime::Refusal::Reason::failed;
  std::vector<Header> headers;
  if (!is_failure) headers.push_back({"Retry-After", "1"});
  return problem(status_of(refusal.reason), refusal.detail, std::move(headers),
                 {.code = is_failure ? std::string_view() : name_of(refusal.reason),
                  .limit = refusal.limit,
                  .used = refusal.used,
                  .remedy = refusal.remedy});
}

}  // namespace server
