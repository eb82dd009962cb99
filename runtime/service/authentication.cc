#include "runtime/service/authentication.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/config/config.h"

namespace runtime {
namespace {

// The text that is digested for a tenant. A key has no blank, so that no key equals a tenant's
// text.
std::string identity_of(const ApiKey& key) {
  return key.tenant.empty() ? key.secret.reveal() : "tenant " + key.tenant;
}

}  // namespace

std::vector<ApiKey> api_keys_of(const Config& config) {
  std::vector<ApiKey> keys;
  for (std::size_t i = 0; i < config.api_keys.size(); ++i) {
    ApiKey key{.secret = config.api_keys[i]};
    if (!config.api_key_scopes.empty()) key.scopes = config.api_key_scopes[i];
    if (!config.api_key_tenants.empty()) key.tenant = config.api_key_tenants[i];
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> tenants_of(const std::vector<ApiKey>& keys, const Jobs& jobs) {
  if (keys.empty()) return {std::string()};
  std::vector<std::string> tenants;
  for (const ApiKey& key : keys) tenants.push_back(jobs.owner_of(identity_of(key)));
  return tenants;
}

std::size_t number_of_tenants(const std::vector<ApiKey>& keys) {
  std::set<std::string> identities;
  for (const ApiKey& key : keys) identities.insert(identity_of(key));
  return std::max<std::size_t>(1, identities.size());
}

Authentication::Authentication(std::vector<ApiKey> keys, const Jobs& jobs)
    : keys_(std::move(keys)), tenants_(tenants_of(keys_, jobs)) {}

std::optional<Principal> Authentication::principal_of(std::string_view shown) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].secret.is(shown)) found = i;
  }
  if (!found) return std::nullopt;
  return Principal{.tenant = tenants_[*found], .key = found, .allowed = keys_[*found].scopes};
}

std::size_t Authentication::key_of(std::string_view tenant) const {
  const auto found = std::find(tenants_.begin(), tenants_.end(), tenant);
  return found == tenants_.end() ? 0 : static_cast<std::size_t>(found - tenants_.begin());
}

}  // namespace runtime
