// The API keys that the operator configured, and the principal of each.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/scope.h"
#include "runtime/config/secret.h"
#include "runtime/service/principal.h"
#include "runtime/store/jobs.h"

namespace runtime {

struct Config;

struct ApiKey {
  Secret secret;
  Scopes scopes = Scopes::all();
  std::string tenant{};  // its name; empty: the key is a tenant of its own
};

// The keys in the order of the configuration.
std::vector<ApiKey> api_keys_of(const Config& config);

// Returns Principal::tenant of each key, in their order. Without keys there is one tenant, which is
// empty.
std::vector<std::string> tenants_of(const std::vector<ApiKey>& keys, const Jobs& jobs);

// The number of tenants that the keys have; 1 without keys.
std::size_t number_of_tenants(const std::vector<ApiKey>& keys);

// Thread-safe.
class Authentication {
 public:
  // `jobs` is used only in the constructor.
  Authentication(std::vector<ApiKey> keys, const Jobs& jobs);

  // Returns whether a key is required. Where none is configured everybody is one principal.
  bool needs_key() const noexcept { return !keys_.empty(); }
  std::size_t number_of_keys() const noexcept { return keys_.size(); }

  // Returns std::nullopt where `shown` is not a key. Takes the same time for every wrong key of one
  // length.
  std::optional<Principal> principal_of(std::string_view shown) const;

  // The index of the tenant's first key, for counts by key; 0 where it has none any more.
  std::size_t key_of(std::string_view tenant) const;

 private:
  const std::vector<ApiKey> keys_;
  const std::vector<std::string> tenants_;
};

}  // namespace runtime
