// Sandboxes: signed URLs of their files.
#include <chrono>

#include "runtime/json/utc_text.h"
#include "runtime/service/file_url.h"
#include "runtime/service/sandboxes.h"

namespace runtime {

std::string Sandboxes::sign(const Caller& caller, const Sandbox& sandbox, const FileGrant& grant) {
  note_signed(caller, sandbox, grant);
  return signature_of(grant, sandbox.id(), sandbox.url_key_);
}

Sandboxes::Or<Sandboxes::Found> Sandboxes::find_by_signature(std::string_view id,
                                                             const FileGrant& grant,
                                                             std::string_view signature) const {
  auto found = find(Principal(), id);
  const auto* const sandbox = std::get_if<Found>(&found);
  if (sandbox == nullptr) return found;
  // `id` must not be a name, and a sandbox of an earlier server has no key.
  const Secret& key = (*sandbox)->url_key_;
  const bool is_meant = (*sandbox)->id() == id && !key.empty();
  if (!is_meant || !Secret(signature_of(grant, id, key)).is(signature)) {
    return Refusal{.code = RefusalCode::no_such_sandbox, .detail = "no such sandbox"};
  }
  if (std::chrono::system_clock::now() >= grant.expires) {
    return Refusal{.code = RefusalCode::url_expired,
                   .detail = "the URL expired at " + json::utc_text(grant.expires)};
  }
  if ((*sandbox)->end()) return ended_refusal(**sandbox);
  return found;
}

}  // namespace runtime
