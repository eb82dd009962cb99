// The principal of a request: who asks, whichever door the request came through.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace runtime {

struct Principal {
  // The owner of jobs and lessons, a keyed digest of the API key. It is empty where no keys are
  // configured: everybody is this one tenant then.
  std::string tenant;
  // The place of the key in the configuration, for what is counted by key.
  std::optional<std::size_t> key;
  // No key was shown but a signed URL of a file, which allows one operation with it. Tenant and key
  // are those of the sandbox's owner.
  bool has_signed_url = false;

  // The owner whose records this principal may see. Nothing means every owner's, which holds where
  // no keys are configured.
  std::optional<std::string> sees() const { return key ? std::optional(tenant) : std::nullopt; }
};

// The caller of an operation, and the request that it came by, which the log names.
struct Caller {
  Principal principal;
  std::string request_id;
};

}  // namespace runtime
