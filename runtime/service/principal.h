// The principal of a request: who asks, and what it may do, whichever door the request came
// through.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "runtime/config/scope.h"
#include "runtime/service/file_grant.h"
#include "runtime/refusals/refusal.h"

namespace runtime {

struct Principal {
  // The owner of jobs, sandboxes and lessons, a keyed digest. It is empty where no keys are
  // configured: everybody is this one tenant then.
  std::string tenant;
  // The place of the key in the configuration, for what is counted by key.
  std::optional<std::size_t> key;
  // What the key is for; or the one operation of a signed URL, which was shown in place of a key.
  // Tenant and key are those of the sandbox's owner then. Everybody may do everything where no keys
  // are configured.
  std::variant<Scopes, FileGrant> allowed = Scopes::all();

  // The owner whose records this principal may see. Nothing means every owner's, which holds where
  // no keys are configured.
  std::optional<std::string> sees() const { return key ? std::optional(tenant) : std::nullopt; }

  bool may(Scope scope) const {
    const auto* const scopes = std::get_if<Scopes>(&allowed);
    return scopes != nullptr && scopes->has(scope);
  }
  bool has_signed_url() const { return std::holds_alternative<FileGrant>(allowed); }
};

// The caller of an operation, and the request that it came by, which the log names.
struct Caller {
  Principal principal;
  std::string request_id;
};

// Why the principal may not do what needs `scope`; nothing: it may.
std::optional<Refusal> missing_scope(const Principal& principal, Scope scope);

}  // namespace runtime
