// The principal of a request: its identity and its permissions, whichever door the request came
// through.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "runtime/config/scope.h"
#include "runtime/refusals/refusal.h"
#include "runtime/service/file_grant.h"

namespace runtime {

struct Principal {
  // The owner of jobs, sandboxes and lessons, a keyed digest. It is empty where no keys are
  // configured: everybody is this one tenant then.
  std::string tenant;
  // The index of the key in the configuration, for counts by key.
  std::optional<std::size_t> key;
  // The key's scopes; or the one operation of a signed URL that was shown in place of a key, in
  // which case tenant and key are those of the sandbox's owner. Everybody has all scopes where no
  // keys are configured.
  std::variant<Scopes, FileGrant> allowed = Scopes::all();

  // The owner whose records this principal may see. std::nullopt stands for all owners, which
  // applies where no keys are configured.
  std::optional<std::string> sees() const { return key ? std::optional(tenant) : std::nullopt; }

  bool may(Scope scope) const {
    const auto* const scopes = std::get_if<Scopes>(&allowed);
    return scopes != nullptr && scopes->has(scope);
  }
  bool has_signed_url() const { return std::holds_alternative<FileGrant>(allowed); }
};

// The caller of an operation, and its request, which the log names.
struct Caller {
  Principal principal;
  std::string request_id;
};

// The refusal of an operation that needs `scope`; std::nullopt where the principal has it.
std::optional<Refusal> missing_scope(const Principal& principal, Scope scope);

}  // namespace runtime
