#include "runtime/service/authentication.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/observe/logger.h"
#include "runtime/store/job_place.h"
#include "runtime/store/jobs.h"

namespace runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AuthenticationTest : public testing::Test {
 protected:
  Logger logger_{LogOptions{.write = [](std::string_view) {}}};
  Jobs jobs_{*JobTable::open(in_memory, {}), logger_};
};

Config with_keys(std::vector<std::string> keys) {
  Config config;
  for (std::string& key : keys) config.api_keys.emplace_back(std::move(key));
  return config;
}

TEST_F(AuthenticationTest, WithoutScopesAndTenantsAKeyIsForEverythingAndATenant) {
  const Authentication authentication(api_keys_of(with_keys({"first", "second"})), jobs_);
  EXPECT_TRUE(authentication.needs_key());
  const auto first = authentication.principal_of("first");
  const auto second = authentication.principal_of("second");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->key, 0u);
  EXPECT_EQ(second->key, 1u);
  EXPECT_EQ(first->tenant, jobs_.owner_of("first"));
  EXPECT_EQ(second->sees(), jobs_.owner_of("second"));
  EXPECT_FALSE(first->has_signed_url());
  for (const Scope scope : all_scopes) {
    EXPECT_TRUE(first->may(scope)) << name_of(scope);
    EXPECT_FALSE(missing_scope(*first, scope)) << name_of(scope);
  }
}

TEST_F(AuthenticationTest, OnlyAWholeKeyIsOne) {
  const Authentication authentication(api_keys_of(with_keys({"first", "second"})), jobs_);
  for (const char* shown : {"", "f", "firs", "First", "firstfirst", "first second", "second "}) {
    EXPECT_FALSE(authentication.principal_of(shown)) << shown;
  }
  const Authentication open(api_keys_of(with_keys({})), jobs_);
  EXPECT_FALSE(open.needs_key());
  EXPECT_FALSE(open.principal_of(""));
}

TEST_F(AuthenticationTest, AKeyHasItsOwnScopes) {
  Config config = with_keys({"runs", "reads"});
  config.api_key_scopes = {{Scope::execute, Scope::metrics}, {Scope::read}};
  const Authentication authentication(api_keys_of(config), jobs_);
  const auto runs = authentication.principal_of("runs");
  const auto reads = authentication.principal_of("reads");
  ASSERT_TRUE(runs && reads);
  EXPECT_TRUE(runs->may(Scope::execute) && runs->may(Scope::metrics));
  EXPECT_FALSE(runs->may(Scope::read) || runs->may(Scope::sandboxes));
  EXPECT_NE(runs->tenant, reads->tenant);
  const auto refusal = missing_scope(*reads, Scope::execute);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, RefusalCode::missing_scope);
  EXPECT_EQ(refusal->detail, "this key lacks the scope \"execute\"");
  EXPECT_THAT(std::string(remedy_of(*refusal)), HasSubstr("API_KEY_SCOPES"));
}

TEST_F(AuthenticationTest, KeysOfOneTenantOwnTheSame) {
  Config config = with_keys({"old", "theirs", "new"});
  config.api_key_tenants = {"team", "old", "team"};
  const auto keys = api_keys_of(config);
  EXPECT_EQ(number_of_tenants(keys), 2u);
  const Authentication authentication(keys, jobs_);
  const auto old = authentication.principal_of("old");
  const auto renewed = authentication.principal_of("new");
  const auto theirs = authentication.principal_of("theirs");
  ASSERT_TRUE(old && renewed && theirs);
  EXPECT_EQ(old->tenant, renewed->tenant);
  EXPECT_EQ(renewed->key, 2u);
  EXPECT_EQ(authentication.key_of(old->tenant), 0u);
  EXPECT_EQ(authentication.key_of(theirs->tenant), 1u);
  EXPECT_EQ(authentication.key_of("of a key that was taken away"), 0u);
  EXPECT_NE(theirs->tenant, jobs_.owner_of("old")) << "a tenant is not a key of the same name";
  EXPECT_THAT(tenants_of(keys, jobs_), ElementsAre(old->tenant, theirs->tenant, old->tenant));
}

TEST_F(AuthenticationTest, WithoutKeysThereIsOneTenantWhoMayDoEverything) {
  EXPECT_THAT(tenants_of({}, jobs_), ElementsAre(Principal().tenant));
  EXPECT_EQ(number_of_tenants({}), 1u);
  EXPECT_EQ(Principal().sees(), std::nullopt);
  for (const Scope scope : all_scopes) EXPECT_TRUE(Principal().may(scope)) << name_of(scope);
}

TEST_F(AuthenticationTest, ASignedUrlHasNoScopes) {
  Principal principal;
  principal.allowed = FileGrant{.operation = FileGrant::Operation::read, .path = "/workspace/x"};
  EXPECT_TRUE(principal.has_signed_url());
  for (const Scope scope : all_scopes) {
    EXPECT_FALSE(principal.may(scope)) << name_of(scope);
    EXPECT_TRUE(missing_scope(principal, scope)) << name_of(scope);
  }
}

// Returns the shortest of many times: other work of the machine only adds to a time.
std::chrono::nanoseconds time_of(const Authentication& authentication, const std::string& shown) {
  auto shortest = std::chrono::nanoseconds::max();
  for (int i = 0; i < 60; ++i) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_FALSE(authentication.principal_of(shown));
    shortest =
        std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - began);
  }
  return shortest;
}

// A comparison that ends at the first difference would take a tenth or less for the first of these.
TEST_F(AuthenticationTest, AKeyTakesTheSameTimeWhereverItIsWrong) {
  const std::string key(64u << 10, 'k');
  const Authentication authentication(api_keys_of(with_keys({key})), jobs_);
  std::string early = key;
  early.front() = 'x';
  std::string late = key;
  late.back() = 'x';
  const auto first = time_of(authentication, early);
  const auto last = time_of(authentication, late);
  EXPECT_LT(last, 2 * first);
  EXPECT_LT(first, 2 * last);
}

}  // namespace
}  // namespace runtime
